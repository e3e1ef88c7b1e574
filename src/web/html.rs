//! The text of HTML, of any length.
//!
//! Kept is the text of the body that a browser shows without running scripts' replacements: neither comments nor the
//! content of the elements in [`HIDDEN`] nor of templates. White space is one blank, or one line feed where a block begins or
//! ends (or, in `pre`, a line); there is none at the beginning and at the end.

use super::tokens::{Tag, Tags, tokenise};
use std::io::{self, Read};

/// Elements whose content is no text of the page. All but templates hold plain characters: no tag within counts.
pub const HIDDEN: [&[u8]; 7] =
    [b"script", b"style", b"title", b"noscript", b"iframe", b"noembed", b"noframes"];
/// Elements that stand on lines of their own (`schema/golden/blocks.txt`).
const BLOCKS: [&str; 50] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "title",
    "tr",
    "ul",
    "xmp",
];
/// Elements that stand beside others.
const CELLS: [&str; 4] = ["td", "th", "select", "textarea"];
/// Bytes of text that are handed on at a time.
const PIECE: usize = 1 << 16;

/// Hands the text of a page in UTF-8 to `take`, a part at a time.
pub fn text(page: impl Read, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut walk = Walk { text: Spaced::new(take), hidden: false, templates: 0, lines: 0 };
    tokenise(page, &mut walk)?;
    walk.text.finish();
    Ok(())
}

/// What a `meta` element of the page's beginning says of its charset.
pub fn charset(beginning: &[u8]) -> Option<String> {
    let mut metas = Metas::default();
    tokenise(beginning, &mut metas).ok()?;
    metas.found
}

struct Walk<'a> {
    text: Spaced<'a>,
    hidden: bool,
    /// Templates that are open, and elements in which lines count.
    templates: usize,
    lines: usize,
}

impl Tags for Walk<'_> {
    fn tag(&mut self, tag: &Tag) {
        let opened = |count: usize| if tag.ends { count.saturating_sub(1) } else { count + 1 };
        self.hidden = !tag.ends && HIDDEN.contains(&tag.name);
        match tag.name {
            b"template" => self.templates = opened(self.templates),
            b"pre" | b"textarea" => self.lines = opened(self.lines),
            _ => {}
        }
        let Ok(name) = std::str::from_utf8(tag.name) else { return };
        if BLOCKS.binary_search(&name).is_ok() {
            self.text.space(Space::Line);
        } else if CELLS.contains(&name) {
            self.text.space(Space::Blank);
        }
    }

    fn text(&mut self, text: &[u8]) {
        if !self.hidden && self.templates == 0 {
            self.text.push(text, self.lines > 0);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    None,
    Blank,
    Line,
}

/// Text whose white space is one character each.
struct Spaced<'a> {
    take: &'a mut dyn FnMut(&[u8]),
    held: Vec<u8>,
    begun: bool,
    waiting: Space,
}

impl<'a> Spaced<'a> {
    fn new(take: &'a mut dyn FnMut(&[u8])) -> Self {
        Spaced { take, held: Vec::new(), begun: false, waiting: Space::None }
    }

    fn space(&mut self, space: Space) {
        self.waiting = self.waiting.max(space);
    }

    fn push(&mut self, text: &[u8], lines: bool) {
        let mut rest = text;
        while let Some(&first) = rest.first() {
            let blank = first.is_ascii_whitespace();
            let end = rest.iter().position(|byte| byte.is_ascii_whitespace() != blank).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            if blank {
                self.space(if lines && run.contains(&b'\n') { Space::Line } else { Space::Blank });
            } else {
                self.word(run);
            }
        }
    }

    fn word(&mut self, word: &[u8]) {
        match self.waiting {
            Space::Blank if self.begun => self.held.push(b' '),
            Space::Line if self.begun => self.held.push(b'\n'),
            _ => {}
        }
        (self.begun, self.waiting) = (true, Space::None);
        self.held.extend_from_slice(word);
        if self.held.len() >= PIECE {
            self.finish();
        }
    }

    fn finish(&mut self) {
        (self.take)(&self.held);
        self.held.clear();
    }
}

/// Looks for `<meta charset=X>` and `<meta http-equiv=Content-Type content="...; charset=X">`.
#[derive(Default)]
struct Metas {
    found: Option<String>,
}

impl Tags for Metas {
    const ATTRIBUTES: bool = true;

    fn tag(&mut self, tag: &Tag) {
        if self.found.is_some() || tag.ends || tag.name != b"meta" {
            return;
        }
        let is_type =
            tag.attribute("http-equiv").is_some_and(|name| name.eq_ignore_ascii_case("content-type"));
        let content = tag.attribute("content").filter(|_| is_type);
        let of_content =
            || content.and_then(|content| super::MediaType::parse(&content).charset().map(str::to_owned));
        self.found = tag.attribute("charset").or_else(of_content);
    }

    fn text(&mut self, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: &str) -> String {
        let mut out = Vec::new();
        text(page.as_bytes(), &mut |part| out.extend(part)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_are_found_by_bisection() {
        assert!(BLOCKS.is_sorted());
    }

    #[test]
    fn what_a_browser_shows_is_the_text() {
        for (page, text) in [
            ("a <b>b</b>c\n\td<br>e<p> f </p>g", "a bc d\ne\nf\ng"),
            ("<table><tr><td>1<td>2<tr><td>3</table>", "1 2\n3"),
            ("x&amp;y &lt;p&gt; &#8364;&nbsp;&unknown; &", "x&y <p> €\u{A0}&unknown; &"),
            ("<head><title>T</title><style>p{}</style></head><script>if (a<b) '</p>'</script>x", "x"),
            ("<script><!-- <script> </script> --></script>x<!-- y <p> -->z", "xz"),
            ("<noscript><p>n</noscript><iframe>i</iframe><textarea>t <p></textarea>u", "t <p> u"),
            ("a<template>b<template>c</template>d</template>e", "ae"),
            ("<pre>one\n  two</pre>three\nfour", "one\ntwo\nthree four"),
            ("<P CLASS='>'>up</P><unclosed", "up"),
            ("<![CDATA[x]]>y</ p>z<?php 1 ?>", "yz"),
            ("plain", "plain"),
            ("", ""),
            (" <p>\u{E9}\u{3000}\u{4E2D} ", "\u{E9}\u{3000}\u{4E2D}"),
        ] {
            assert_eq!(shown(page), text, "{page}");
        }
    }

    #[test]
    fn long_pages_come_in_parts() {
        let page = "<p>word of some text".repeat(50_000);
        assert_eq!(shown(&page), "word of some text\n".repeat(50_000).trim_end());
    }

    #[test]
    fn charsets_are_declared_by_meta_elements() {
        for (page, charset) in [
            ("<meta charset='x-1'>", Some("x-1")),
            ("<META HTTP-EQUIV=content-type CONTENT='text/html; charset=y'>", Some("y")),
            ("<meta content='text/html; charset=y'>", None),
            (
                "<!-- <meta charset=x> --><script>'<meta charset=x>'</script><meta charset=z><meta charset=x>",
                Some("z"),
            ),
            ("<p charset=x>", None),
            ("<meta charset=cut", None),
        ] {
            assert_eq!(super::charset(page.as_bytes()).as_deref(), charset, "{page}");
        }
    }
}
