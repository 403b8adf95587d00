//! The flags of flame graph JSON, for `convert` and `flame`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use traceloom_analysis::Dimension;
use traceloom_formats::Format;

use crate::dimension::by_thread;
use crate::groups::GroupFlags;
use crate::usage::Usage;

/// How a flame graph is written as JSON.
#[derive(Args, Clone, Default)]
pub(crate) struct GraphFlags {
    /// What frames stand for: functions, their lines, what they belong to; in pictures `thread` is `--by thread`.
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(
        ["method", "line", "package", "class", "thread", "library"]))]
    dimension: Option<String>,
    /// Unit of the values of flame graph JSON: ns, us, ms, s; bytes, KiB, MiB. Without it sums stay exact.
    #[arg(long, value_name = "UNIT", value_parser = PossibleValuesParser::new(
        ["ns", "us", "ms", "s", "bytes", "KiB", "MiB"]))]
    unit: Option<String>,
    /// Language of the unit's word.
    #[arg(long, value_name = "LANG", value_parser = PossibleValuesParser::new(["en", "zh"]))]
    lang: Option<String>,
}

impl GraphFlags {
    /// Adds the flags to a variant of `target`; they mean nothing to any other format.
    pub(crate) fn variant(
        &self,
        target: &Format,
        variant: Option<String>,
    ) -> anyhow::Result<Option<String>> {
        let words = [
            ("dimension", &self.dimension),
            ("unit", &self.unit),
            ("lang", &self.lang),
        ];
        let mut all: Vec<String> = variant.into_iter().collect();
        for (name, value) in words {
            let Some(value) = value else { continue };
            if target.name != traceloom_formats::flamejson::FORMAT.name {
                let reason = format!("--{name} is for flamegraph-json, not for {}", target.name);
                return Err(Usage(reason).into());
            }
            all.push(format!("{name}={value}"));
        }
        Ok((!all.is_empty()).then(|| all.join(",")))
    }

    /// Returns true if none was typed that is for JSON alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.unit.is_none() && self.lang.is_none()
    }

    /// Returns what the frames of a picture stand for; below threads, functions.
    pub(crate) fn of_picture(&self) -> Dimension {
        let word = self.dimension.as_deref().unwrap_or_default();
        Dimension::of_word(word).unwrap_or_default()
    }

    /// Returns what the roots of a picture are groups of.
    pub(crate) fn groups(&self, groups: &GroupFlags) -> anyhow::Result<GroupFlags> {
        by_thread(self.dimension.as_deref(), groups)
    }
}
