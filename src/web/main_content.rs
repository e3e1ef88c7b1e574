//! The main content of a page, as Mozilla's Readability finds it (`dom_smoothie`), where that is safe.
//!
//! Readability takes time with the square of how deep elements stand in each other, and HTML's rules can make far more
//! elements than there are tags: a page is parsed a few bytes at a time, and given up when its tree grows too large or
//! too deep.

use super::clean::clean;
use super::html;
use dom_query::Document;
use dom_smoothie::{Config, Readability};
use html5ever::driver::ParseOpts;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Nodes of a tree, and how many of them stand in each other.
const MOST_NODES: usize = 20_000;
const MOST_DEEP: usize = 100;
/// Bytes between two looks at how large the tree is: they may hold few tags, each of which may open every element that
/// waits to be opened again.
const STEP: usize = 16;
/// Steps between two looks at how deep it is.
const STRIDE: usize = 256;
/// Characters that a main content has at least.
const LEAST: usize = 200;

/// The text of the main content, `None` when there is none or less than 200 characters of it.
pub fn text(page: &str) -> Option<String> {
    // What the crates do not expect of a page is no main content either.
    let content = catch_unwind(AssertUnwindSafe(|| content(page))).ok()??;
    let mut text = Vec::new();
    html::text(content.as_ref().as_bytes(), &mut |part| text.extend_from_slice(part)).ok()?;
    let text = String::from_utf8(text).ok()?;
    (text.chars().nth(LEAST - 1).is_some()).then_some(text)
}

/// The main content as HTML.
fn content(page: &str) -> Option<StrTendril> {
    let document = parse(&clean(page).ok()?)?;
    let config = Config { disable_json_ld: true, ..Config::default() };
    let article = Readability::with_document(document, None, Some(config)).ok()?.parse().ok()?;
    Some(article.content)
}

/// The tree of a page, unless it is too large or too deep.
fn parse(page: &str) -> Option<Document> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let mut parser =
        html5ever::parse_document(Document::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let mut rest = page;
    for step in 1_usize.. {
        if rest.is_empty() {
            break;
        }
        let (bytes, after) = rest.split_at(rest.ceil_char_boundary(STEP));
        parser.process(StrTendril::from(bytes));
        let document = &parser.tokenizer.sink.sink;
        if document.tree.len() > MOST_NODES || (step.is_multiple_of(STRIDE) && !is_tame(document)) {
            return None;
        }
        rest = after;
    }
    let document = parser.finish();
    is_tame(&document).then_some(document)
}

/// Whether the nodes of a tree do not stand too deep in each other.
fn is_tame(document: &Document) -> bool {
    let (mut node, mut depth) = (document.root(), 0);
    loop {
        if let Some(child) = node.first_child() {
            (node, depth) = (child, depth + 1);
            if depth > MOST_DEEP {
                return false;
            }
            continue;
        }
        node = loop {
            if let Some(next) = node.next_sibling() {
                break next;
            }
            match node.parent() {
                Some(parent) if depth > 1 => (node, depth) = (parent, depth - 1),
                _ => return true,
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROSE: &str =
        "The harbour lay still that morning, and the boats, which had come in late, were not yet unloaded. ";

    fn page(main: &str) -> String {
        let links = "<li><a href=x>Another page of this place</a>".repeat(40);
        format!(
            "<body><nav><ul>{links}</ul></nav><div id=main>{main}</div><footer>All rights reserved</footer>"
        )
    }

    #[test]
    fn navigation_is_left_out() {
        let text = text(&page(&format!("<h1>Boats</h1><p>{0}<p>{0}<p>{0}{0}", PROSE.repeat(3)))).unwrap();
        assert!(text.contains("not yet unloaded") && !text.contains("Another page"), "{text}");
    }

    #[test]
    fn what_has_too_little_of_it_has_none() {
        for html in ["", "<p>short", "\u{FEFF}", "<svg><desc>", &page("<p>short")] {
            let found = text(html);
            assert!(found.as_ref().is_none_or(|text| text.contains("Another page")), "{html}: {found:?}");
        }
        assert_eq!(text(&format!("<p>{}", "x".repeat(LEAST - 1))), None);
    }

    #[test]
    fn trees_too_large_or_too_deep_are_given_up() {
        let prose = format!("<p>{}", PROSE.repeat(8));
        let deep = |n: usize| "<div>".repeat(n) + &prose;
        assert!(parse(&deep(MOST_DEEP - 6)).is_some() && parse(&deep(MOST_DEEP)).is_none());
        // A tag that ends nothing hides how deep it is.
        assert!(parse(&("<div><table></div></table>".repeat(MOST_DEEP) + &prose)).is_none());
        assert!(parse(&("<br>".repeat(MOST_NODES) + &prose)).is_none());
        // Every paragraph opens all of them again.
        let bold: String = (0..MOST_DEEP / 2).map(|n| format!("<b {n}>")).collect();
        assert!(parse(&(bold + &"<p>x".repeat(10_000))).is_none());
        let bold = |n: usize| (0..n).map(|n| format!("<b {n}>")).collect::<String>();
        assert!(parse(&("<table>".to_owned() + &bold(MOST_DEEP) + &prose)).is_none());
    }
}
