//! Loops over many bytes or numbers at a time, compiled once for every kind of vector unit and chosen when they run.
//!
//! A loop has one source, so it gives the same bits on every machine; where instructions are named (carry-less
//! multiplication), a test holds it against its definition. `SKETCHDB_KERNEL=portable|avx2|avx512` chooses a lower level
//! than the machine has.

pub(crate) mod ascii;
pub(crate) mod carryless;
pub(crate) mod mixing;
pub(crate) mod squeeze;
pub(crate) mod words;

use std::sync::OnceLock;

/// The vector units that loops are compiled for, each with all that the one before has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What every machine of the architecture has.
    Portable,
    /// x86-64 with AVX2, BMI and PCLMULQDQ.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL, VBMI2) and VPCLMULQDQ.
    Avx512,
}

impl Level {
    /// What `SKETCHDB_KERNEL` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// The level that loops run at.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let asked = match std::env::var("SKETCHDB_KERNEL").as_deref() {
            Ok("portable") => Level::Portable,
            Ok("avx2") => Level::Avx2,
            _ => Level::Avx512,
        };
        asked.min(found())
    })
}

/// The level that the CPU has.
#[cfg(target_arch = "x86_64")]
fn found() -> Level {
    macro_rules! has {
        ($($feature:tt),*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
    }
    let avx2 = has!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt", "pclmulqdq");
    let avx512 = has!("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi2", "vpclmulqdq");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn found() -> Level {
    Level::Portable
}

/// Compiles a function for every level; a call runs the one of the machine.
macro_rules! for_every_level {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $type),*) {
            #[inline(always)]
            fn portable($($arg: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($arg: $type),*) {
                portable($($arg),*);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $type),*) {
                portable($($arg),*);
            }

            match $crate::text::kernel::level() {
                // Sound: `level` names what the CPU was found to have, which is all that these functions ask of it.
                #[cfg(target_arch = "x86_64")]
                $crate::text::kernel::Level::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                $crate::text::kernel::Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => portable($($arg),*),
            }
        }
    };
}

pub(crate) use for_every_level;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs the tests of sketches, their golden bytes among them, once more at every level below the one they run at now.
    #[test]
    fn every_level_passes_the_tests_of_this_one() {
        if std::env::var_os("SKETCHDB_KERNEL").is_some() {
            return eprintln!("SKETCHDB_KERNEL is set: other levels are not tested");
        }
        for lower in [Level::Portable, Level::Avx2].into_iter().filter(|lower| *lower < level()) {
            let mut tests = Command::new(std::env::current_exe().unwrap());
            tests.env("SKETCHDB_KERNEL", lower.name()).args(["text::", "sketch::", "golden"]);
            let output = tests.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{}: {said}", lower.name());
            assert!(!said.contains(" 0 passed"), "{}: {said}", lower.name());
        }
    }

    #[test]
    fn the_level_is_the_one_that_was_asked_for() {
        if let Ok(asked) = std::env::var("SKETCHDB_KERNEL") {
            assert_eq!(level().name(), asked, "or the machine lacks it");
        }
    }
}
