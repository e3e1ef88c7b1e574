//! Bytes → text: UTF-8, a leading byte order mark dropped, what is not UTF-8 replaced by U+FFFD and counted.
//!
//! Replacement is by maximal subparts, as the Unicode Standard (3.9, U+FFFD substitution) and
//! [`String::from_utf8_lossy`] do it, whatever the chunks.

/// Decodes chunks; at most three bytes wait for the next chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
    replaced: u64,
    begun: bool,
}

impl Decoder {
    /// How many ill-formed sequences were replaced so far.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Decodes the next bytes of the text.
    pub fn push(&mut self, mut bytes: &[u8], sink: &mut (impl FnMut(&str) + ?Sized)) {
        while !self.pending.is_empty() {
            let Some((&next, rest)) = bytes.split_first() else { return };
            self.pending.push(next);
            bytes = rest;
            let joined = std::mem::take(&mut self.pending);
            self.run(&joined, sink);
        }
        self.run(bytes, sink);
    }

    /// Decodes what is still waiting: the input ended in the middle of a character.
    pub fn finish(&mut self, sink: &mut (impl FnMut(&str) + ?Sized)) {
        if !std::mem::take(&mut self.pending).is_empty() {
            self.replace(sink);
        }
    }

    fn run(&mut self, mut bytes: &[u8], sink: &mut (impl FnMut(&str) + ?Sized)) {
        while !bytes.is_empty() {
            match simdutf8::compat::from_utf8(bytes) {
                Ok(text) => return self.emit(text, sink),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    self.emit(str::from_utf8(valid).expect("valid up to here"), sink);
                    let Some(bad) = error.error_len() else {
                        self.pending = rest.to_vec();
                        return;
                    };
                    self.replace(sink);
                    bytes = &rest[bad..];
                }
            }
        }
    }

    fn replace(&mut self, sink: &mut (impl FnMut(&str) + ?Sized)) {
        self.replaced += 1;
        self.emit("\u{FFFD}", sink);
    }

    fn emit(&mut self, text: &str, sink: &mut (impl FnMut(&str) + ?Sized)) {
        if text.is_empty() {
            return;
        }
        let text = if self.begun { text } else { text.strip_prefix('\u{FEFF}').unwrap_or(text) };
        self.begun = true;
        if !text.is_empty() {
            sink(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8], chunk: usize) -> (String, u64) {
        let (mut decoder, mut out) = (Decoder::default(), String::new());
        for part in bytes.chunks(chunk) {
            decoder.push(part, &mut |text| out.push_str(text));
        }
        decoder.finish(&mut |text| out.push_str(text));
        (out, decoder.replaced())
    }

    proptest! {
        #[test]
        fn equals_the_standard_library_for_every_chunk_size(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xE4), Just(0xBD), Just(0xA0), Just(0xF0), Just(0x9F)], 0..60),
            chunk in 1usize..9,
        ) {
            let expected = String::from_utf8_lossy(&bytes).into_owned();
            prop_assert_eq!(decode(&bytes, chunk).0, expected.strip_prefix('\u{FEFF}').unwrap_or(&expected));
        }
    }

    #[test]
    fn a_byte_order_mark_is_dropped_only_at_the_start() {
        assert_eq!(decode("\u{FEFF}a\u{FEFF}".as_bytes(), 1), ("a\u{FEFF}".to_string(), 0));
    }

    #[test]
    fn replacements_are_counted() {
        assert_eq!(decode(b"a\xFFb\xE4\xBD", 2), ("a\u{FFFD}b\u{FFFD}".to_string(), 2));
    }
}
