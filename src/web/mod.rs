//! Web pages and plain texts in any charset → the text that is sketched.
//!
//! What of a page is its text belongs to the meaning of a database, as its shingles do: the parameter `html` says it, and
//! everything that decides it is pinned (`schema/format.md`, section "Text of web pages").
//!
//! ```
//! use sketchdb::web::{Extraction, text_of};
//! let page = b"<title>T</title><p>caf\xE9 <b>au</b> lait<p>&euro; 3";
//! let text = text_of(page, "text/html; charset=windows-1252", Extraction::Text);
//! assert_eq!(text.as_deref(), Some("café au lait\n€ 3"));
//! assert_eq!(text_of(b"\x89PNG\r\n\x1A\n\0\0", "", Extraction::Text), None);
//! ```

mod charset;
mod clean;
mod html;
mod main_content;
mod media;
mod references;
mod tokens;

pub use media::MediaType;

use charset::Decoded;
use encoding_rs::UTF_8;
use serde::{Deserialize, Serialize};
use std::io::{self, Cursor, Read};

/// What of an HTML page is its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extraction {
    /// The main content, without navigation, headers and footers; where there is none, all text.
    #[default]
    Main,
    /// All text that a browser shows.
    Text,
    /// The page as it is, tags and all.
    Raw,
}

/// Bytes that a charset and a type are told by.
const BEGINNING: usize = 1 << 16;
/// Bytes of a page whose main content is looked for; of a longer one all text is taken.
const MOST_PAGE: u64 = 1 << 20;

/// The text of a page or of a plain text; `None` of what is no text: by its content type, whatever the bytes are, or, when that is
/// empty, by its bytes.
pub fn text_of(bytes: &[u8], content_type: &str, extraction: Extraction) -> Option<String> {
    let mut text = Vec::new();
    let read = read_text(bytes, &MediaType::parse(content_type), extraction, &mut |part| text.extend(part));
    read.ok()??;
    let text = String::from_utf8_lossy(&text);
    Some(text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned())
}

/// Hands the text of a page or of a plain text to `take`, a part at a time: how many ill-formed sequences were replaced,
/// `None` of what is no text.
///
/// Plain UTF-8 is handed on byte for byte, ill-formed sequences and byte order mark too: a [`Sketcher`](crate::Sketcher)
/// sees to them.
pub fn read_text(
    mut reader: impl Read,
    media: &MediaType,
    extraction: Extraction,
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<Option<u64>> {
    let mut beginning = Vec::new();
    reader.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning)?;
    let whole = beginning.len() < BEGINNING;
    let Some(media) = media.or_told_by(&beginning) else { return Ok(None) };
    let (charset, mark) = charset::tell(&beginning, whole, media.charset(), media.is_html());
    let is_page = media.is_html() && extraction != Extraction::Raw;
    if charset == UTF_8 && !is_page {
        take(&beginning);
        drop(beginning);
        return copy(reader, take).map(|()| Some(0));
    }
    let mut bytes = Cursor::new(beginning);
    bytes.set_position(mark as u64);
    let mut decoded = Decoded::new(bytes.chain(reader), charset);
    match extraction {
        _ if !is_page => copy(&mut decoded, take)?,
        Extraction::Main => main_or_all(&mut decoded, take)?,
        _ => html::text(&mut decoded, take)?,
    }
    Ok(Some(decoded.replaced()))
}

fn main_or_all(mut decoded: impl Read, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut page = Vec::new();
    decoded.by_ref().take(MOST_PAGE + 1).read_to_end(&mut page)?;
    let held = if page.len() as u64 <= MOST_PAGE { std::str::from_utf8(&page).ok() } else { None };
    if let Some(main) = held.and_then(main_content::text) {
        take(main.as_bytes());
        return Ok(());
    }
    html::text(Cursor::new(page).chain(decoded), take)
}

fn copy(mut reader: impl Read, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => take(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
