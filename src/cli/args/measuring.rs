//! Which measure decides that documents are alike, and from where on.

use clap::{Args, ValueEnum};
use sketchdb::{Accept, CommonShingles, Confirm, Database, Error, Measure, Params, Result};
use std::sync::Arc;

/// A measure to ask by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum By {
    Resemblance,
    Containment,
    Contained,
    Agreement,
    Edit,
    Hamming,
    Any,
}

/// A measure that an index lists pairs by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PairsBy {
    Resemblance,
    Agreement,
    Hamming,
}

/// What a threshold is where pairs are listed.
pub const PAIRS_THRESHOLD: &str =
    "From which share on, in (0, 1]; with --by hamming up to which distance; the database's own by default";

impl From<PairsBy> for By {
    fn from(by: PairsBy) -> Self {
        match by {
            PairsBy::Resemblance => By::Resemblance,
            PairsBy::Agreement => By::Agreement,
            PairsBy::Hamming => By::Hamming,
        }
    }
}

/// A confirming measure; its bound follows from the threshold when none is given.
#[derive(Clone, Copy, Debug)]
enum ConfirmArg {
    Simhash(Option<u32>),
    Edit(Option<f64>),
}

impl std::str::FromStr for ConfirmArg {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || "simhash[:D] with D in 0..=64, or edit[:R] with R in (0, 1]".to_string();
        let (name, bound) = text.split_once(':').map_or((text, None), |(name, bound)| (name, Some(bound)));
        match name {
            "simhash" => {
                let distance =
                    bound.map(|d| d.parse().ok().filter(|&d| d <= 64).ok_or_else(wrong)).transpose()?;
                Ok(ConfirmArg::Simhash(distance))
            }
            "edit" => {
                let within = |&r: &f64| r > 0.0 && r <= 1.0;
                Ok(ConfirmArg::Edit(
                    bound.map(|r| r.parse().ok().filter(within).ok_or_else(wrong)).transpose()?,
                ))
            }
            _ => Err(wrong()),
        }
    }
}

/// An end of an interval, or the estimate.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AcceptArg {
    Low,
    Estimate,
    High,
}

impl From<AcceptArg> for Accept {
    fn from(accept: AcceptArg) -> Self {
        match accept {
            AcceptArg::Low => Accept::Low,
            AcceptArg::Estimate => Accept::Estimate,
            AcceptArg::High => Accept::High,
        }
    }
}

/// From where on the measure that decides does so.
#[derive(Debug, Args)]
pub struct Measuring {
    /// From which share on, in (0, 1]; with --by hamming up to which distance, with --by edit up to which share of the longer
    /// text; the database's own by default
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// Which end of the 95 % interval must reach the threshold
    #[arg(long, value_enum, default_value = "estimate")]
    accept: AcceptArg,
    /// Keep a match only if this measure agrees: simhash[:D] or edit[:R]; repeatable
    #[arg(long, value_name = "MEASURE")]
    confirm: Vec<ConfirmArg>,
    /// Leave shingles that more than this share of the stored texts have, in (0, 1], out of resemblance and containment:
    /// boilerplate. Reads every stored sample first
    #[arg(long, value_name = "SHARE")]
    ignore_common: Option<f64>,
}

impl Measuring {
    /// The measure and its threshold.
    pub fn measure(&self, by: impl Into<By>, params: &Params) -> Result<Measure> {
        let threshold = self.threshold.unwrap_or(params.threshold);
        match (by.into(), self.threshold) {
            (By::Resemblance, _) => Ok(Measure::Resemblance(threshold)),
            (By::Containment, _) => Ok(Measure::Containment(threshold)),
            (By::Contained, _) => Ok(Measure::Contained(threshold)),
            (By::Agreement, _) => Ok(Measure::Agreement(threshold)),
            (By::Any, _) => Ok(Measure::Any(threshold)),
            (By::Edit, share) => Ok(Measure::Edit(share.unwrap_or(1.0 - params.threshold))),
            (By::Hamming, None) => Ok(Measure::Hamming(params.hamming)),
            (By::Hamming, Some(distance)) if distance.fract() == 0.0 && (0.0..=64.0).contains(&distance) => {
                Ok(Measure::Hamming(distance as u32))
            }
            (By::Hamming, Some(distance)) => Err(Error::Invalid {
                what: format!("--threshold {distance} with --by hamming"),
                remedy: "give a whole number of bits, 0 to 64".into(),
            }),
        }
    }

    /// The confirming measures, with their bounds.
    pub fn confirm(&self, by: impl Into<By>, params: &Params) -> Vec<Confirm> {
        // A distance says nothing of the resemblance, a share that differs leaves the others.
        let threshold = match by.into() {
            By::Hamming => params.threshold,
            By::Edit => self.threshold.map_or(params.threshold, |share| 1.0 - share),
            _ => self.threshold.unwrap_or(params.threshold),
        };
        let width = params.sketch.shingle.width();
        let bounded = |confirm: &ConfirmArg| match *confirm {
            ConfirmArg::Simhash(distance) => {
                Confirm::Simhash(distance.unwrap_or_else(|| Confirm::default_distance(threshold, width)))
            }
            ConfirmArg::Edit(share) => {
                Confirm::Edit(share.unwrap_or_else(|| Confirm::default_share(threshold)))
            }
        };
        self.confirm.iter().map(bounded).collect()
    }

    /// The shingles to leave out.
    pub fn ignored(&self, db: &Database) -> Result<Option<Arc<CommonShingles>>> {
        self.ignore_common.map(|share| db.common_shingles(share).map(Arc::new)).transpose()
    }

    pub fn accept(&self) -> Accept {
        self.accept.into()
    }
}
