//! The links of a page.

use dom_query::Document;
use reqwest::Url;
use std::collections::HashSet;

/// Where the links of a page lead, each once, in the order of the page and without fragments.
pub fn links(page: &Url, html: &str) -> Vec<Url> {
    let document = Document::from(html);
    let target = |element: &str| document.select(element).attr("href").and_then(|base| page.join(&base).ok());
    let base = target("base[href]").unwrap_or_else(|| page.clone());
    let mut seen = HashSet::new();
    let anchors = document.select("a[href], area[href]");
    let hrefs = anchors.iter().filter_map(|anchor| anchor.attr("href"));
    let urls = hrefs.filter_map(|href| target_of(&base, &href));
    urls.filter(|url| seen.insert(url.clone())).collect()
}

/// Where a link leads from a page, without its fragment.
pub fn target_of(page: &Url, link: &str) -> Option<Url> {
    let mut url = page.join(link).ok()?;
    url.set_fragment(None);
    Some(url)
}
