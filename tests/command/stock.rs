//! A stock of documents: families of near duplicates, copies, and texts of their own.

use crate::common::texts::{Draw, edited, text};
use crate::run::Shell;
use serde_json::Value;

/// A key and its text.
pub type Document = (String, String);

/// So many families of four: `fN.0`, two of its near duplicates (one may lie below the threshold), and a copy `fN.3`.
pub fn stock(seed: u64, families: usize) -> Vec<Document> {
    let draw = &mut Draw::new(seed);
    let mut documents = Vec::new();
    for family in 0..families {
        let first = text(draw, 200);
        let (slight, strong) = (1 + draw.below(3), 4 + draw.below(6));
        let texts = [first.clone(), edited(draw, &first, slight), edited(draw, &first, strong), first];
        documents.extend(texts.into_iter().enumerate().map(|(at, text)| (format!("f{family}.{at}"), text)));
    }
    documents
}

pub fn borrowed(documents: &[Document]) -> Vec<(&str, &str)> {
    documents.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect()
}

impl Shell {
    /// A database of a stock.
    pub fn stocked(&self, name: &str, documents: &[Document], options: &[&str]) {
        self.write_lines("stock.jsonl", &borrowed(documents));
        self.run(&[&["add", name, "stock.jsonl"], options].concat()).exits(0);
        std::fs::remove_file(self.path("stock.jsonl")).unwrap();
    }

    /// Everything that reading verbs answer, what depends on the layout of the file apart.
    pub fn answers(&self, name: &str, documents: &[Document]) -> Vec<String> {
        self.write_lines("asked.jsonl", &borrowed(documents));
        let mut answers = Vec::new();
        for args in [
            &["query", name, "asked.jsonl", "--by", "any", "--copies"][..],
            &["query", name, "asked.jsonl", "--self"],
            &["pairs", name, "--copies"],
            &["clusters", name],
        ] {
            answers.push(self.run(&[&["--json", "--quiet"], args].concat()).out);
        }
        for (key, _) in documents {
            answers.push(self.run(&["--json", "--quiet", "get", name, key]).out);
        }
        let stats = &self.json(&["stats", name])[0];
        answers
            .extend(["documents", "contents", "clusters"].map(|field| format!("{field} {}", stats[field])));
        answers
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names of everything in the folder.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

/// Asserts that a line has exactly these fields.
pub fn assert_fields(line: &Value, fields: &[&str]) {
    let mut found: Vec<&str> = line.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut fields = fields.to_vec();
    found.sort_unstable();
    fields.sort_unstable();
    assert_eq!(found, fields, "{line}");
}
