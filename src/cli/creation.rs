//! Creation options → parameters of a database.

use crate::args::Common;
use crate::say::say;
use clap::{Arg, Args, ValueEnum};
use sketchdb::web::Extraction;
use sketchdb::{
    ClusterRule, EditParams, Error, Kept, Params, RepresentativeRule, Result, Shingling, Unit, Weights,
};

/// Stands above them in the help of verbs that make a file.
pub const HEADING: &str = "Creation options (kept in the file)";

/// Parameters of a database: kept in the file, refused on one that has others.
#[derive(Clone, Debug, Args)]
pub struct Creation {
    /// How texts are cut: words, chars, lines or bytes, and how many to a shingle [default: words:5]
    #[arg(long, value_name = "UNIT:WIDTH")]
    shingle: Option<Shingling>,
    /// Count repeated shingles each (Broder's option A)
    #[arg(long)]
    labelled: bool,
    /// The resemblance from which documents are near duplicates [default: 0.8]
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// The share of the pairs at the threshold that become candidates [default: 0.99]
    #[arg(long, value_name = "P")]
    recall: Option<f64>,
    /// Values of a sample [default: 256]
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Entries of a signature [default: 128]
    #[arg(long, value_name = "N")]
    minhashes: Option<usize>,
    /// The features of the simhash [default: words:2, or bytes:4 with --shingle bytes:N]
    #[arg(long, value_name = "UNIT:WIDTH")]
    simhash: Option<Shingling>,
    /// The Hamming distance within which every simhash is found [default: 3]
    #[arg(long, value_name = "D")]
    hamming: Option<u32>,
    /// Permuted simhash tables [default: one more than --hamming]
    #[arg(long, value_name = "N")]
    hamming_tables: Option<usize>,
    /// How features are weighted: by how often they occur, or all alike [default: tf]
    #[arg(long, value_name = "tf|one")]
    weights: Option<WeightsArg>,
    /// Compression rate and neighbourhood of the edit signature [default: 100:4]
    #[arg(long, value_name = "C:N")]
    edit: Option<EditParams>,
    /// Do without the containment index
    #[arg(long)]
    no_containment: bool,
    /// How documents are put into clusters [default: components]
    #[arg(long, value_name = "components|greedy")]
    clusters: Option<ClustersArg>,
    /// What stands for a cluster that is formed greedily: its first member, or the most popular values [default: first]
    #[arg(long, value_name = "first|popular")]
    representative: Option<RepresentativeArg>,
    /// What of an HTML page is its text: the main content, all that a browser shows, or the page with its tags [default: main]
    #[arg(long, value_name = "main|text|raw")]
    html: Option<HtmlArg>,
    /// Store these sketches only, and the indexes that they feed [default: sample,signature,simhash,edit]
    #[arg(long, value_name = "LIST")]
    keep_sketches: Option<Kept>,
    /// Draws all hashes: a number, or random [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<Seed>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WeightsArg {
    Tf,
    One,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ClustersArg {
    Components,
    Greedy,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RepresentativeArg {
    First,
    Popular,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HtmlArg {
    Main,
    Text,
    Raw,
}

#[derive(Clone, Copy, Debug)]
enum Seed {
    Number(u64),
    Random,
}

impl std::str::FromStr for Seed {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "random" => Ok(Seed::Random),
            number => number.parse().map(Seed::Number).map_err(|_| "a whole number, or random".into()),
        }
    }
}

impl Creation {
    /// Those that fix the sketches: a rebuild can only say why it cannot change them.
    const FIXED: [&str; 9] =
        ["shingle", "labelled", "sample", "minhashes", "simhash", "weights", "edit", "html", "seed"];

    /// An option as the help of a rebuild shows it, where the file's own parameters are the defaults.
    pub fn of_file(option: Arg) -> Arg {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let without_default = help.split(" [default: ").next().unwrap_or_default().to_owned();
        let fixed = Self::FIXED.contains(&option.get_id().as_str());
        option.help(without_default).hide(fixed)
    }

    /// Whether the number of permuted tables is given.
    pub fn names_tables(&self) -> bool {
        self.hamming_tables.is_some()
    }

    /// `params` with the given options in their place. A random seed is drawn only for a new database.
    pub fn applied_to(&self, mut params: Params, is_new: bool) -> Result<Params> {
        fn set<T: Copy>(place: &mut T, given: Option<T>) {
            *place = given.unwrap_or(*place);
        }
        set(&mut params.sketch.shingle, self.shingle);
        set(&mut params.sketch.sample, self.sample);
        set(&mut params.sketch.minhashes, self.minhashes);
        set(&mut params.sketch.simhash, self.simhash);
        let [shingle, simhash] =
            [params.sketch.shingle, params.sketch.simhash].map(|s| s.unit() == Unit::Bytes);
        if self.simhash.is_none() && shingle != simhash {
            params.sketch.simhash = match shingle {
                true => Shingling::new(Unit::Bytes, 4)?,
                false => Params::default().sketch.simhash,
            };
        }
        params.sketch.labelled |= self.labelled;
        params.containment &= !self.no_containment;
        set(&mut params.sketch.edit, self.edit);
        let weights = self.weights.map(|weights| match weights {
            WeightsArg::Tf => Weights::Tf,
            WeightsArg::One => Weights::One,
        });
        set(&mut params.sketch.weights, weights);
        let html = self.html.map(|html| match html {
            HtmlArg::Main => Extraction::Main,
            HtmlArg::Text => Extraction::Text,
            HtmlArg::Raw => Extraction::Raw,
        });
        set(&mut params.sketch.html, html);
        let rule = self.clusters.map(|clusters| match clusters {
            ClustersArg::Components => ClusterRule::Components,
            ClustersArg::Greedy => ClusterRule::Greedy,
        });
        set(&mut params.clusters, rule);
        let representative = self.representative.map(|representative| match representative {
            RepresentativeArg::First => RepresentativeRule::First,
            RepresentativeArg::Popular => RepresentativeRule::Popular,
        });
        set(&mut params.representative, representative);
        set(&mut params.keep_sketches, self.keep_sketches);
        set(&mut params.threshold, self.threshold);
        set(&mut params.recall, self.recall);
        if let Some(hamming) = self.hamming.filter(|&hamming| hamming != params.hamming || is_new) {
            params.hamming = hamming;
            params.hamming_tables = hamming as usize + 1;
        }
        set(&mut params.hamming_tables, self.hamming_tables);
        match self.seed {
            Some(Seed::Number(seed)) => params.sketch.seed = seed,
            Some(Seed::Random) if is_new => params.sketch.seed = random_seed()?,
            _ => {}
        }
        Ok(params)
    }
}

/// Warns of a new database that finds little.
pub fn warn(params: &Params, common: &Common) {
    let Kept { sample, signature, simhash, .. } = params.keep_sketches;
    let indexed = signature || simhash || sample && params.containment;
    if !indexed && !common.quiet {
        say(
            "sketchdb: so only equal texts are found: keep signatures, simhashes, or samples with their containment index",
        );
    }
}

fn random_seed() -> Result<u64> {
    getrandom::u64()
        .map_err(|error| Error::Io { doing: "draw a seed".into(), source: std::io::Error::other(error) })
}
