//! The parameters of a database: chosen once, kept in the file, the same for everything in it.

use super::keep::Kept;
use crate::error::{Error, Result};
use crate::index::indexing::Indexing;
use crate::index::{Bands, TableDesign};
use crate::sketch::{SketchParams, Sketcher};
use crate::web::text_of;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What fixes the sketches and the indexes of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// What fixes a sketch.
    #[serde(flatten)]
    pub sketch: SketchParams,
    /// The resemblance from which documents are near duplicates, in (0, 1]; .8 by default.
    pub threshold: f64,
    /// The share of the pairs at the threshold that become candidates, in (0, 1); .99 by default.
    pub recall: f64,
    /// The Hamming distance within which every simhash is found, 1 to 7; 3 by default.
    pub hamming: u32,
    /// How many permuted tables find them; 4 by default.
    pub hamming_tables: usize,
    /// Whether sample values are indexed too, so that containment can be searched; they take some 350 bytes a content.
    pub containment: bool,
    /// How documents are put into clusters.
    pub clusters: ClusterRule,
    /// What stands for a cluster that is formed greedily.
    pub representative: RepresentativeRule,
    /// Which sketches of a content are stored, with the indexes that they feed.
    pub keep_sketches: Kept,
}

/// How documents are put into clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterRule {
    /// Near duplicates of near duplicates are one cluster: the connected components (Broder et al. 1997).
    #[default]
    Components,
    /// A document joins the cluster whose representative it resembles most, else founds one (Broder 1997, section 4.4).
    Greedy,
}

/// What stands for a cluster that is formed greedily.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepresentativeRule {
    /// Its first member.
    #[default]
    First,
    /// As many values as a sample has, the most popular ones of its first 256 members, counted whenever they have doubled.
    Popular,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            sketch: SketchParams::default(),
            threshold: 0.8,
            recall: 0.99,
            hamming: 3,
            hamming_tables: 4,
            containment: true,
            clusters: ClusterRule::default(),
            representative: RepresentativeRule::default(),
            keep_sketches: Kept::default(),
        }
    }
}

impl Params {
    /// Checks every value against its range, and that they fit together.
    pub fn check(&self) -> Result<()> {
        self.sketch.check()?;
        check_share("threshold", self.threshold)?;
        if !(self.recall > 0.0 && self.recall < 1.0) {
            return Err(Error::invalid(format!("recall {}", self.recall), "must lie in (0, 1)"));
        }
        if self.representative == RepresentativeRule::Popular && !self.keep_sketches.sample {
            return Err(Error::invalid(
                "representative popular",
                "it is made of samples: keep them (--keep-sketches), or use first",
            ));
        }
        self.indexing().map(|_| ())
    }

    /// Rows and bands of the index.
    pub fn bands(&self) -> Result<Bands> {
        Bands::choose(self.sketch.minhashes, self.threshold, self.recall)
    }

    /// Refuses what needs the containment index where there is none.
    pub(crate) fn check_containment(&self, what: &str) -> Result<()> {
        match self.containment && self.keep_sketches.sample {
            true => Ok(()),
            false => Err(Error::invalid(
                what,
                "this database was made without the containment index (--no-containment or --keep-sketches)",
            )),
        }
    }

    /// Refuses what needs a sketch that is not kept.
    pub(crate) fn check_kept(&self, what: &str, kept: bool) -> Result<()> {
        match kept {
            true => Ok(()),
            false => Err(Error::invalid(
                what,
                format!("this database keeps only {} of the sketches (--keep-sketches)", self.keep_sketches),
            )),
        }
    }

    pub(crate) fn indexing(&self) -> Result<Indexing> {
        Ok(Indexing {
            bands: self.bands()?,
            tables: TableDesign::new(self.hamming, Some(self.hamming_tables))?,
            containment: self.containment && self.keep_sketches.sample,
        })
    }

    /// The first parameter in which two sets differ is an error that names both values: `self` is the file's.
    pub fn check_same(&self, wanted: &Params) -> Result<()> {
        let (Value::Object(own), Value::Object(wanted)) = (self.to_json(), wanted.to_json()) else {
            return Ok(());
        };
        match own.iter().find(|(name, value)| wanted.get(*name) != Some(value)) {
            None => Ok(()),
            Some((name, value)) => Err(Error::Incompatible {
                name: name.replace('_', "-"),
                expected: wanted.get(name).map_or("nothing".into(), Value::to_string),
                found: value.to_string(),
            }),
        }
    }

    /// Refuses sketches that were made with other parameters than this database's, naming the first that differs.
    pub fn check_comparable(&self, sketch: &SketchParams) -> Result<()> {
        self.check_same(&Params { sketch: sketch.clone(), ..self.clone() })
    }

    /// The stored form: a JSON object.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain values")
    }

    /// Reads the stored form. A parameter that this build does not know is an error: it would be ignored; so is one that is
    /// not there, of a build that did not know it.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let corrupt = |error: serde_json::Error| Error::corrupt("parameters", error);
        let value: Value = serde_json::from_slice(bytes).map_err(corrupt)?;
        let incompatible = |name: &str, expected: &str, found: String| Error::Incompatible {
            name: name.into(),
            expected: expected.into(),
            found,
        };
        let ours = Params::default().to_json();
        let missing = |object: &Map<String, Value>| names(&ours).find(|name| !object.contains_key(*name));
        if let Some(name) = value.as_object().and_then(missing) {
            return Err(incompatible(name, "a value", "nothing".into()));
        }
        let params: Params = serde_json::from_value(value.clone()).map_err(corrupt)?;
        let known = params.to_json();
        if let Some((name, found)) =
            value.as_object().and_then(|all| all.iter().find(|p| known.get(p.0).is_none()))
        {
            return Err(incompatible(name, "no such parameter", found.to_string()));
        }
        params.check().map_err(|error| Error::corrupt("parameters", error))?;
        Ok(params)
    }

    /// What this build makes of a known text: two builds that differ here do not compare.
    pub(crate) fn known_answer(&self) -> Result<Vec<u8>> {
        let sketch = Sketcher::new(&self.sketch)?.sketch(known_text().as_bytes());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&sketch.hash.0);
        hasher.update(&sketch.sample.encode());
        hasher.update(&sketch.signature.as_ref().map(|signature| signature.encode()).unwrap_or_default());
        hasher.update(&sketch.simhash.map_or(0, |simhash| simhash.0).to_le_bytes());
        hasher.update(&sketch.edit.as_ref().map(|edit| edit.encode()).unwrap_or_default());
        for address in self.indexing()?.addresses(self.keep_sketches.indexed(&sketch)) {
            hasher.update(&address.bits().to_le_bytes());
        }
        let page = known_page();
        for bytes in [page.as_bytes(), KNOWN_JAPANESE] {
            hasher.update(text_of(bytes, "", self.sketch.html).unwrap_or_default().as_bytes());
        }
        Ok(hasher.finalize().as_bytes()[..16].to_vec())
    }
}

/// The names of an object's fields.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(Map::keys).map(String::as_str)
}

/// A text that meets every rule of the canonical form: scripts, cases, widths, marks, separators
/// (`schema/golden/known-text.txt`).
fn known_text() -> String {
    let words: String = (0..700).map(|i| format!("word{} ", i * i % 1009)).collect();
    words
        + "Ünïcödé ＦＵＬＬ ﬁ e\u{301} 漢字かなカナ ภาษาไทย 한국어 русский עברית العربية ①½ \u{1F600}\u{FE0F}\r\n İI"
}

/// A page whose text, main content and source differ, with what HTML may have in it
/// (`schema/golden/known-page.html`).
fn known_page() -> String {
    let links: String = (0..40).map(|i| format!("<li><a href='{i}.html'>Another page {i}</a>")).collect();
    let prose: String =
        (0..60).map(|i| format!("word{}, and &lt;more&gt;&nbsp;of <b>it</b>. ", i * i % 53)).collect();
    format!(
        "<!DOCTYPE html><title>T</title><style>p {{}}</style><nav><ul>{links}</ul></nav><script>'<p>no</p>'</script>\
         <div id=content><h1>Heading</h1><p>{prose}<p>{prose}<table><tr><td>1<td>2</table><pre>a\n  b</pre></div>\
         <noscript>no</noscript><!-- no --><footer>End &copy; <img alt=no></footer>"
    )
}

/// A page in Shift_JIS that does not say so (`schema/golden/known-japanese.bin`).
const KNOWN_JAPANESE: &[u8] =
    b"<html><p>\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x8F\xCD\x82\xC5\x82\xB7\x81\x42\x82\xB1\x82\xEA\x82\xCD\x95\xB6\x8E\x9A</p>";

pub(crate) fn check_share(name: &str, value: f64) -> Result<()> {
    match value > 0.0 && value <= 1.0 {
        true => Ok(()),
        false => Err(Error::invalid(format!("{name} {value}"), "must lie in (0, 1]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::Extraction;

    #[test]
    fn the_stored_form_comes_back() {
        let params = Params { threshold: 0.7, ..Params::default() };
        let bytes = serde_json::to_vec(&params.to_json()).unwrap();
        assert_eq!(Params::from_json(&bytes).unwrap(), params);
    }

    #[test]
    fn unknown_parameters_are_refused() {
        let mut value = Params::default().to_json();
        value["colour"] = "blue".into();
        let refused = Params::from_json(&serde_json::to_vec(&value).unwrap());
        assert!(matches!(refused, Err(Error::Incompatible { name, .. }) if name == "colour"));
    }

    #[test]
    fn parameters_of_builds_that_had_fewer_are_refused() {
        let mut value = Params::default().to_json();
        value.as_object_mut().unwrap().remove("html");
        let refused = Params::from_json(&serde_json::to_vec(&value).unwrap());
        assert!(matches!(refused, Err(Error::Incompatible { name, .. }) if name == "html"));
    }

    #[test]
    fn differing_parameters_are_named() {
        let other = Params { hamming_tables: 10, ..Params::default() };
        let refused = Params::default().check_same(&other).unwrap_err();
        assert_eq!(refused.to_string(), "incompatible hamming-tables: the file has 4, asked for was 10");
    }

    #[test]
    fn known_answers_tell_parameters_apart() {
        let mut answers: Vec<Vec<u8>> = [1, 2]
            .map(|seed| Params {
                sketch: SketchParams { seed, ..SketchParams::default() },
                ..Params::default()
            })
            .iter()
            .chain(
                [Extraction::Text, Extraction::Raw]
                    .map(|html| Params {
                        sketch: SketchParams { html, ..SketchParams::default() },
                        ..Params::default()
                    })
                    .iter(),
            )
            .chain([&Params { threshold: 0.5, ..Params::default() }])
            .map(|params| params.known_answer().unwrap())
            .collect();
        answers.dedup();
        assert_eq!(answers.len(), 5);
    }
}
