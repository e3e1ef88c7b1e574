//! HTML's tags and text as they come (the HTML Standard, section 13.2.5), in constant memory and linear time.
//!
//! A tokeniser of its own, because those that there are hold a tag with all of its attributes, take time with the square of
//! their number, or call themselves for each. What of the standard only a tree can tell is not told: the content of
//! elements as `noscript` is taken for text wherever they stand, and CDATA for a comment.

use super::references::decoded;
use std::io::{self, Read};

/// Bytes of a name, of a character reference, and of the attributes of a tag, that are kept.
const MOST_NAME: usize = 32;
const MOST_REFERENCE: usize = 48;
const MOST_ATTRIBUTES: usize = 4096;

/// What is told of a page.
pub trait Tags {
    /// Whether attributes are wanted.
    const ATTRIBUTES: bool = false;

    fn tag(&mut self, tag: &Tag);
    fn text(&mut self, text: &[u8]);
}

/// A tag, its name in lowercase.
pub struct Tag<'a> {
    pub name: &'a [u8],
    pub ends: bool,
    attributes: &'a [(Vec<u8>, Vec<u8>)],
}

impl Tag<'_> {
    /// Names and values, as far as they are kept.
    pub fn attributes(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.attributes
    }

    /// The value of an attribute, of several the first.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let found = self.attributes.iter().find(|attribute| attribute.0 == name.as_bytes());
        found.map(|attribute| String::from_utf8_lossy(&attribute.1).into_owned())
    }
}

/// Tells the tags and the text of a page in UTF-8.
pub fn tokenise(mut page: impl Read, tags: &mut impl Tags) -> io::Result<()> {
    let mut scanner = Scanner::new(tags);
    let mut buffer = vec![0; 1 << 14];
    loop {
        match page.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => scanner.push(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    scanner.finish();
    Ok(())
}

/// What stands between tags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Text and tags.
    Mixed,
    /// Text with character references, up to the end tag.
    Referring,
    /// Text up to the end tag.
    Raw,
    /// A script, which may hide end tags of its kind in comments.
    Script,
    /// Text up to the end of the page.
    Plain,
}

/// The content of an element.
fn content(name: &[u8]) -> Content {
    match name {
        b"textarea" | b"title" => Content::Referring,
        b"plaintext" => Content::Plain,
        b"script" => Content::Script,
        b"style" | b"iframe" | b"xmp" | b"noembed" | b"noframes" | b"noscript" => Content::Raw,
        _ => Content::Mixed,
    }
}

#[derive(Clone, Copy)]
enum State {
    Text,
    Reference,
    /// Behind `<`, `</`, and letters that may be the end tag of text.
    TagOpen,
    EndOpen,
    TextEnd,
    TagName,
    /// Before, in, and behind the name of an attribute; before and in its value.
    InTag,
    Name,
    BehindName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
    /// Behind `<!`, `<!-`, `<!--`, `<!---`; in a comment, behind so many dashes, 3 for `--!`; in what is taken for one.
    Markup,
    MarkupDash,
    CommentBegun,
    CommentDash,
    Comment(u8),
    Bogus,
    /// In a script behind `<!` and so many dashes, and in a word behind `<`.
    ScriptMarkup(u8),
    ScriptWord,
}

struct Scanner<'t, T> {
    tags: &'t mut T,
    state: State,
    content: Content,
    /// How deep a script is in comments and scripts of its own, and the dashes just passed.
    escaped: u8,
    dashes: u8,
    /// The name of the tag, or the reference or word that it may become.
    name: Vec<u8>,
    ends: bool,
    /// The name of the last tag that began an element.
    last: Vec<u8>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes of the attributes.
    bytes: usize,
}

impl<'t, T: Tags> Scanner<'t, T> {
    fn new(tags: &'t mut T) -> Self {
        Scanner {
            tags,
            state: State::Text,
            content: Content::Mixed,
            escaped: 0,
            dashes: 0,
            name: Vec::new(),
            ends: false,
            last: Vec::new(),
            attributes: Vec::new(),
            bytes: 0,
        }
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            if let State::Text = self.state {
                let text = bytes.iter().position(|byte| self.stops(*byte)).unwrap_or(bytes.len());
                if text > 0 {
                    self.dashes = 0;
                    self.tags.text(&bytes[..text]);
                    bytes = &bytes[text..];
                    continue;
                }
            }
            if self.step(byte) {
                bytes = &bytes[1..];
            }
        }
    }

    /// The page has ended.
    fn finish(mut self) {
        match self.state {
            State::Reference => self.refer(),
            State::TagOpen => self.tags.text(b"<"),
            State::EndOpen => self.tags.text(b"</"),
            State::TextEnd => self.no_end(),
            _ => {}
        }
    }

    /// Whether a byte of text is more than that.
    fn stops(&self, byte: u8) -> bool {
        match byte {
            b'<' => self.content != Content::Plain,
            b'&' => matches!(self.content, Content::Mixed | Content::Referring),
            b'-' | b'>' => self.escaped > 0,
            _ => false,
        }
    }

    /// Goes on with a byte; false when it is to be looked at again.
    fn step(&mut self, byte: u8) -> bool {
        let blank = byte.is_ascii_whitespace();
        let (state, used) = match (self.state, byte) {
            (State::Text, b'<') => (State::TagOpen, true),
            (State::Text, b'&') => {
                self.name.clear();
                self.name.push(byte);
                (State::Reference, true)
            }
            (State::Text, _) => return self.in_script(byte),
            (State::Reference, _) => return self.reference(byte),
            (State::TagOpen, _) => self.tag_open(byte),
            (State::EndOpen, _) => self.end_open(byte),
            (State::TextEnd, _) => self.text_end(byte),
            (State::ScriptMarkup(_) | State::ScriptWord, _) => self.script(byte),
            (State::TagName, b'/') => (State::InTag, true),
            (State::TagName, _) if blank => (State::InTag, true),
            (
                State::TagName
                | State::InTag
                | State::Name
                | State::BehindName
                | State::BeforeValue
                | State::Unquoted,
                b'>',
            ) => {
                self.tell();
                (State::Text, true)
            }
            (State::TagName, _) => {
                keep(&mut self.name, byte.to_ascii_lowercase(), MOST_NAME);
                (State::TagName, true)
            }
            (State::InTag | State::BehindName, b'/') => (State::InTag, true),
            (State::InTag, _) if blank => (State::InTag, true),
            (State::BehindName, _) if blank => (State::BehindName, true),
            (State::Name | State::BehindName, b'=') => (State::BeforeValue, true),
            (State::InTag | State::BehindName, _) => {
                self.attribute();
                self.attribute_byte(byte.to_ascii_lowercase(), true);
                (State::Name, true)
            }
            (State::Name, b'/') => (State::InTag, true),
            (State::Name, _) if blank => (State::BehindName, true),
            (State::Name, _) => {
                self.attribute_byte(byte.to_ascii_lowercase(), true);
                (State::Name, true)
            }
            (State::BeforeValue, b'"' | b'\'') => (State::Quoted(byte), true),
            (State::BeforeValue, _) if blank => (State::BeforeValue, true),
            (State::BeforeValue, _) => (State::Unquoted, false),
            (State::Quoted(quote), _) if byte == quote => (State::InTag, true),
            (State::Unquoted, _) if blank => (State::InTag, true),
            (state @ (State::Quoted(_) | State::Unquoted), _) => {
                self.attribute_byte(byte, false);
                (state, true)
            }
            (State::Bogus | State::CommentBegun | State::CommentDash | State::Comment(2 | 3), b'>') => {
                (State::Text, true)
            }
            (State::Bogus, _) => (State::Bogus, true),
            (State::Markup, b'-') => (State::MarkupDash, true),
            (State::MarkupDash, b'-') => (State::CommentBegun, true),
            (State::Markup | State::MarkupDash, _) => (State::Bogus, false),
            (State::CommentBegun, b'-') => (State::CommentDash, true),
            (State::CommentDash, b'-') => (State::Comment(2), true),
            (State::Comment(dashes), b'-') => {
                (State::Comment(if dashes == 3 { 1 } else { 2.min(dashes + 1) }), true)
            }
            (State::Comment(2), b'!') => (State::Comment(3), true),
            (State::CommentBegun | State::CommentDash | State::Comment(_), _) => (State::Comment(0), true),
        };
        self.state = state;
        used
    }

    fn reference(&mut self, byte: u8) -> bool {
        let goes_on = byte.is_ascii_alphanumeric() || (byte == b'#' && self.name.len() == 1);
        if goes_on && self.name.len() < MOST_REFERENCE {
            self.name.push(byte);
            return true;
        }
        let ends = byte == b';' && self.name.len() > 1;
        if ends {
            self.name.push(byte);
        }
        self.refer();
        self.state = State::Text;
        ends
    }

    fn refer(&mut self) {
        let text = decoded(&self.name);
        self.tags.text(text.as_bytes());
    }

    fn tag_open(&mut self, byte: u8) -> (State, bool) {
        match (self.content, byte) {
            (_, b'/') => (State::EndOpen, true),
            (Content::Mixed, _) if byte.is_ascii_alphabetic() => {
                self.begin(false);
                (State::TagName, false)
            }
            (Content::Mixed, b'!') => (State::Markup, true),
            (Content::Mixed, b'?') => (State::Bogus, true),
            (Content::Script, b'!') => (State::ScriptMarkup(0), true),
            (Content::Script, _) if self.escaped == 1 && byte.is_ascii_alphabetic() => {
                self.name.clear();
                (State::ScriptWord, false)
            }
            _ => {
                self.tags.text(b"<");
                (State::Text, false)
            }
        }
    }

    fn end_open(&mut self, byte: u8) -> (State, bool) {
        match (self.content, byte) {
            (Content::Mixed, b'>') => (State::Text, true),
            (Content::Mixed, _) if byte.is_ascii_alphabetic() => {
                self.begin(true);
                (State::TagName, false)
            }
            (Content::Mixed, _) => (State::Bogus, false),
            _ => {
                self.begin(true);
                (State::TextEnd, false)
            }
        }
    }

    /// In what may be the end tag of the element that holds text.
    fn text_end(&mut self, byte: u8) -> (State, bool) {
        if self.name.len() < self.last.len() && byte.is_ascii_alphabetic() {
            self.name.push(byte);
            return (State::TextEnd, true);
        }
        let ended = byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        if !ended || !self.name.eq_ignore_ascii_case(&self.last) {
            self.no_end();
            return (State::Text, false);
        }
        if self.escaped == 2 {
            self.escaped = 1;
            return (State::Text, false);
        }
        self.name.make_ascii_lowercase();
        (State::InTag, false)
    }

    fn no_end(&mut self) {
        self.tags.text(b"</");
        self.tags.text(&self.name);
    }

    /// A byte of a script that has a comment.
    fn in_script(&mut self, byte: u8) -> bool {
        match byte {
            b'-' => self.dashes = 2.min(self.dashes + 1),
            _ => {
                if self.dashes == 2 {
                    self.escaped = 0;
                }
                self.dashes = 0;
            }
        }
        true
    }

    /// In a script, where a comment or, in one, a script may begin.
    fn script(&mut self, byte: u8) -> (State, bool) {
        match (self.state, byte) {
            (State::ScriptMarkup(0), b'-') => (State::ScriptMarkup(1), true),
            (State::ScriptMarkup(1), b'-') => {
                self.escaped = self.escaped.max(1);
                self.dashes = 2;
                (State::Text, true)
            }
            (State::ScriptWord, _) if byte.is_ascii_alphabetic() => {
                keep(&mut self.name, byte.to_ascii_lowercase(), MOST_NAME);
                (State::ScriptWord, true)
            }
            (State::ScriptWord, _) => {
                let ended = byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
                if ended && self.name == b"script" {
                    self.escaped = 2;
                }
                self.dashes = 0;
                (State::Text, false)
            }
            _ => (State::Text, false),
        }
    }

    fn begin(&mut self, ends: bool) {
        self.name.clear();
        self.attributes.clear();
        (self.ends, self.bytes) = (ends, 0);
    }

    /// An attribute begins.
    fn attribute(&mut self) {
        self.bytes += 1;
        if T::ATTRIBUTES && self.bytes <= MOST_ATTRIBUTES {
            self.attributes.push((Vec::new(), Vec::new()));
        }
    }

    fn attribute_byte(&mut self, byte: u8, name: bool) {
        self.bytes += 1;
        let kept = T::ATTRIBUTES && self.bytes <= MOST_ATTRIBUTES;
        if let Some(attribute) = self.attributes.last_mut().filter(|_| kept) {
            if name { attribute.0.push(byte) } else { attribute.1.push(byte) }
        }
    }

    /// Tells a tag.
    fn tell(&mut self) {
        self.tags.tag(&Tag { name: &self.name, ends: self.ends, attributes: &self.attributes });
        (self.escaped, self.dashes) = (0, 0);
        self.content = Content::Mixed;
        if !self.ends {
            self.last.clone_from(&self.name);
            self.content = content(&self.name);
        }
    }
}

fn keep(name: &mut Vec<u8>, byte: u8, most: usize) {
    if name.len() < most {
        name.push(byte);
    }
}
