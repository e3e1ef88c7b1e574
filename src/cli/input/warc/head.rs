//! The head of a record: what it is, of which page, from when.

use crate::args;

/// The types of records, in the order in which they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Response,
    Resource,
    Conversion,
    Revisit,
    Request,
    Warcinfo,
    Metadata,
    Continuation,
    Other,
}

impl Kind {
    pub const NAMES: [&str; 9] = [
        "response",
        "resource",
        "conversion",
        "revisit",
        "request",
        "warcinfo",
        "metadata",
        "continuation",
        "other",
    ];

    const ALL: [Kind; 9] = [
        Kind::Response,
        Kind::Resource,
        Kind::Conversion,
        Kind::Revisit,
        Kind::Request,
        Kind::Warcinfo,
        Kind::Metadata,
        Kind::Continuation,
        Kind::Other,
    ];

    /// Whether its block may be a document.
    pub fn is_document(self) -> bool {
        matches!(self, Kind::Response | Kind::Resource | Kind::Conversion)
    }
}

/// Characters of a Content-Type that are looked at.
const MOST_TYPE: usize = 1024;

/// What a record says of itself.
#[derive(Clone, Debug)]
pub struct Head {
    pub kind: Kind,
    /// Bytes of the block.
    pub length: u64,
    pub uri: Option<String>,
    /// What a revisit is the same as, and since when, in seconds since 1970.
    pub refers_to: Option<String>,
    pub refers_to_date: Option<u64>,
    /// Seconds since 1970.
    pub date: Option<u64>,
    pub content_type: String,
    /// Whether the crawler cut the block.
    pub truncated: bool,
    /// Whether the block goes on in other records.
    pub segmented: bool,
}

impl Head {
    /// Bytes that it keeps in memory.
    pub fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Head>() + length(&self.uri) + length(&self.refers_to) + self.content_type.len()
    }

    /// Reads the lines of a head, or says why they are none.
    pub fn parse(lines: &[u8]) -> Result<Head, String> {
        let text = String::from_utf8_lossy(lines);
        let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let version = lines.next().unwrap_or_default();
        if !version.starts_with("WARC/1.") && !version.starts_with("WARC/0.1") {
            return Err("no record of WARC 1.0 or 1.1 begins here".into());
        }
        let fields = fields(lines);
        let field = |name: &str| fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str());
        let length = field("content-length").ok_or("a record without Content-Length")?;
        let length = length.parse().map_err(|_| format!("a record with Content-Length {length:?}"))?;
        let uri = |name| field(name).map(bare).filter(|uri| !uri.is_empty()).map(str::to_owned);
        let date = |name| field(name).and_then(|date| args::time(date).ok());
        let kind = field("warc-type").ok_or("a record without WARC-Type")?;
        let kind = Kind::NAMES.iter().position(|name| name.eq_ignore_ascii_case(kind));
        Ok(Head {
            kind: kind.map_or(Kind::Other, |at| Kind::ALL[at]),
            length,
            uri: uri("warc-target-uri"),
            refers_to: uri("warc-refers-to-target-uri"),
            refers_to_date: date("warc-refers-to-date"),
            date: date("warc-date"),
            content_type: field("content-type").unwrap_or_default().chars().take(MOST_TYPE).collect(),
            truncated: field("warc-truncated").is_some(),
            segmented: field("warc-segment-number").is_some(),
        })
    }
}

/// Names in lowercase and values; a line that begins with a blank goes on with the one before.
fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in lines {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                *value = format!("{value} {}", line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    fields
}

/// Some writers of WARC 1.0 put URIs between angle brackets, as its grammar said.
fn bare(uri: &str) -> &str {
    uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_come() {
        let head = Head::parse(
            b"WARC/1.1\r\nwarc-type: Response\r\nWARC-Target-URI:<http://a.example/>\nContent-Length: 12\r\n\
              WARC-Date: 2026-01-01T00:00:00.123456Z\r\nContent-Type: application/http;\r\n msgtype=response\r\n\
              WARC-Truncated: length\r\n\r\n",
        )
        .unwrap();
        assert_eq!(
            (head.kind, head.length, head.truncated, head.segmented),
            (Kind::Response, 12, true, false)
        );
        assert_eq!((head.uri.as_deref(), head.date), (Some("http://a.example/"), Some(1_767_225_600)));
        assert_eq!(head.content_type, "application/http; msgtype=response");
        for wrong in [
            "",
            "HTTP/1.1 200 OK\r\n\r\n",
            "WARC/2.0\r\nWARC-Type: response\r\nContent-Length: 1\r\n",
            "WARC/1.0\r\nWARC-Type: response\r\n",
            "WARC/1.0\r\nContent-Length: 1\r\n",
            "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: -1\r\n",
            "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99999999999999999999\r\n",
        ] {
            Head::parse(wrong.as_bytes()).unwrap_err();
        }
    }
}
