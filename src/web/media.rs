//! Media types: which of them are text, and which of those are pages.

/// A media type with its charset, as a `Content-Type` names them (RFC 9110, section 8.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaType {
    /// Type and subtype in lowercase; empty when unknown.
    essence: String,
    charset: Option<String>,
}

/// Types of text that nobody reads.
const CODE: [&str; 5] = ["text/css", "text/javascript", "text/ecmascript", "text/x-javascript", "text/dns"];
/// Other types than `text/...` whose content is text.
const TEXT: [&str; 3] = ["application/xhtml+xml", "application/xml", "application/json"];
/// Types that say nothing.
const UNKNOWN: [&str; 3] = ["", "unknown/unknown", "application/unknown"];
/// Bytes by which a text is told from what is none.
const TOLD_BY: usize = 1024;

impl MediaType {
    /// Reads a `Content-Type`. An empty one, or one that says nothing, is unknown.
    pub fn parse(header: &str) -> Self {
        let mut parts = header.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let named = parts.filter_map(|part| part.split_once('='));
        let charset = named
            .filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned())
            .next();
        MediaType { essence, charset }
    }

    /// The type of HTML.
    pub fn html() -> Self {
        Self::parse("text/html")
    }

    /// The type of plain text.
    pub fn plain() -> Self {
        Self::parse("text/plain")
    }

    /// The charset that is declared.
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    /// Whether it is a page with tags.
    pub fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        UNKNOWN.contains(&self.essence.as_str()) || !self.essence.contains('/')
    }

    /// Whether it is text that somebody reads: neither style sheets nor scripts nor answers of the name service.
    pub fn is_text(&self) -> bool {
        let essence = self.essence.as_str();
        let structured = essence.ends_with("+xml") || essence.ends_with("+json");
        let text = essence.starts_with("text/")
            || TEXT.contains(&essence)
            || (essence.starts_with("application/") && structured);
        text && !CODE.contains(&essence)
    }

    /// The type itself, or, when it is unknown, what the first bytes tell; `None` when it is no text.
    pub(super) fn or_told_by(&self, beginning: &[u8]) -> Option<MediaType> {
        match self.is_unknown() {
            false => self.is_text().then(|| self.clone()),
            true => told_by(&beginning[..beginning.len().min(TOLD_BY)])
                .map(|told| MediaType { charset: self.charset.clone(), ..told }),
        }
    }
}

/// HTML begins with a tag that HTML has, text has no control characters (WHATWG MIME Sniffing, sections 3 and 7.1).
fn told_by(beginning: &[u8]) -> Option<MediaType> {
    let marked = encoding_rs::Encoding::for_bom(beginning).is_some();
    let control = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    if !marked && beginning.iter().any(control) {
        return None;
    }
    const TAGS: [&str; 8] = ["<!doctype html", "<html", "<head", "<body", "<title", "<meta", "<div", "<!--"];
    let text = beginning.trim_ascii_start();
    let begins =
        |tag: &&str| text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()));
    Some(if TAGS.iter().any(begins) { MediaType::html() } else { MediaType::plain() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_come() {
        let media = MediaType::parse(" Text/HTML ;x=y; Charset = \"Shift_JIS\" ; charset=utf-8");
        assert_eq!((media.is_html(), media.charset()), (true, Some("Shift_JIS")));
        for (header, text, html) in [
            ("text/plain", true, false),
            ("application/xhtml+xml;charset=x", true, true),
            ("application/rss+xml", true, false),
            ("application/ld+json", true, false),
            ("text/css", false, false),
            ("application/javascript", false, false),
            ("image/svg+xml", false, false),
            ("image/png", false, false),
        ] {
            let media = MediaType::parse(header);
            assert_eq!((media.is_text(), media.is_html()), (text, html), "{header}");
            assert!(!media.is_unknown(), "{header}");
        }
        assert!(
            ["", ";charset=x", "html", "unknown/unknown"].iter().all(|h| MediaType::parse(h).is_unknown())
        );
    }

    #[test]
    fn what_is_unknown_is_told_by_its_first_bytes() {
        let told = |bytes: &[u8]| MediaType::parse("; charset=x").or_told_by(bytes);
        assert!(told(b" \n<!DOCTYPE HTML>").is_some_and(|media| media.is_html()));
        assert!(
            told(b"<p of plain text").is_some_and(|media| !media.is_html() && media.charset() == Some("x"))
        );
        assert!(told(b"\xFF\xFEa\0b\0").is_some());
        assert_eq!(told(b"\x89PNG\r\n\x1A\n"), None);
    }
}
