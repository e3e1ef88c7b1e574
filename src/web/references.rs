//! Character references: `&eacute;` is é (the HTML Standard, section 13.2.5.72, by `html5ever`).

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use std::cell::RefCell;

/// What a reference stands for; what is none stands for itself.
pub fn decoded(reference: &[u8]) -> String {
    let reference = String::from_utf8_lossy(reference);
    match reference.as_ref() {
        "&amp;" => return "&".into(),
        "&lt;" => return "<".into(),
        "&gt;" => return ">".into(),
        "&quot;" => return "\"".into(),
        "&nbsp;" => return "\u{A0}".into(),
        _ => {}
    }
    let tokenizer = Tokenizer::new(Characters::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(reference.as_ref()));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

#[derive(Default)]
struct Characters(RefCell<String>);

impl TokenSink for Characters {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::CharacterTokens(text) => self.0.borrow_mut().push_str(&text),
            Token::NullCharacterToken => self.0.borrow_mut().push('\u{FFFD}'),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn references_are_read_as_browsers_do() {
        for (reference, text) in [
            ("&amp;", "&"),
            ("&eacute;", "é"),
            ("&eacute", "é"),
            ("&#8364;", "€"),
            ("&#x1F600;", "\u{1F600}"),
            ("&#128;", "€"),
            ("&notit;", "¬it;"),
            ("&notin;", "∉"),
            ("&unknown;", "&unknown;"),
            ("&", "&"),
            ("&#", "&#"),
            ("&#0;", "\u{FFFD}"),
            ("&#99999999999;", "\u{FFFD}"),
            ("&CounterClockwiseContourIntegral;", "∳"),
        ] {
            assert_eq!(decoded(reference.as_bytes()), text, "{reference}");
        }
    }
}
