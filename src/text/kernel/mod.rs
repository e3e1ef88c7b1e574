//! Loops over many bytes or numbers at a time, compiled once for every kind of vector unit and chosen when they run.
//!
//! A loop gives the same bits on every machine: it has one source, or, where instructions are named, a test that holds it
//! against its definition. `SKETCHDB_KERNEL=portable|avx2|avx512` chooses a lower level than the machine has.

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
    /// x86-64 with AVX-512 (F, BW, DQ, VL, VBMI2, VPOPCNTDQ) and VPCLMULQDQ.
    Avx512,
}

impl Level {
    const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    /// What `SKETCHDB_KERNEL` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// What `SKETCHDB_KERNEL` may be.
pub(crate) const NAMES: [&str; 3] = {
    let [portable, avx2, avx512] = Level::ALL;
    [portable.name(), avx2.name(), avx512.name()]
};

/// The level that loops run at.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let name = std::env::var("SKETCHDB_KERNEL").unwrap_or_default();
        let asked = Level::ALL.into_iter().find(|level| level.name() == name);
        asked.unwrap_or(Level::Avx512).min(found())
    })
}

/// The level that the CPU has.
#[cfg(target_arch = "x86_64")]
fn found() -> Level {
    macro_rules! has {
        ($($feature:tt),*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
    }
    let avx2 = has!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt", "pclmulqdq");
    let avx512 =
        has!("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi2", "avx512vpopcntdq", "vpclmulqdq");
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

/// Calls the function of the machine's level; where AVX2 has none of its own, the portable one.
macro_rules! at_level {
    (avx512: $avx512:expr, $(avx2: $avx2:expr,)? portable: $portable:expr $(,)?) => {
        // Sound: `level` names what the CPU was found to have, and the functions of a level ask for no more than `found` does.
        match $crate::text::kernel::level() {
            #[cfg(target_arch = "x86_64")]
            $crate::text::kernel::Level::Avx512 => unsafe { $avx512 },
            $(
                #[cfg(target_arch = "x86_64")]
                $crate::text::kernel::Level::Avx2 => unsafe { $avx2 },
            )?
            _ => $portable,
        }
    };
}

pub(crate) use at_level;

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

            $crate::text::kernel::at_level!(
                avx512: avx512($($arg),*),
                avx2: avx2($($arg),*),
                portable: portable($($arg),*),
            )
        }
    };
}

pub(crate) use for_every_level;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped;
    use std::process::Command;

    /// Runs the tests of sketches, their golden bytes among them, once more at every level below the one they run at now.
    #[test]
    fn every_level_passes_the_tests_of_this_one() {
        if std::env::var_os("SKETCHDB_KERNEL").is_some() {
            return skipped("SKETCHDB_KERNEL leaves no level but one");
        }
        for lower in [Level::Portable, Level::Avx2].into_iter().filter(|lower| *lower < level()) {
            let mut tests = Command::new(std::env::current_exe().unwrap());
            // What a level lacks is skipped there, and tested at this one.
            tests.env("SKETCHDB_KERNEL", lower.name()).env_remove("SKETCHDB_REQUIRE");
            tests.args(["text::", "sketch::", "golden"]);
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
