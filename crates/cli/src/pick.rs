//! What of the inputs is written: a stretch of time, some calls, without what must not be told.

use std::fs;
use std::num::NonZeroU64;

use anyhow::Context;
use clap::{Args, ValueEnum};
use traceloom_analysis::stage::{Category, Choose, Fraction, Redaction};
use traceloom_formats::Format;
use traceloom_model::{Feature, Sink};

use crate::args::Common;
use crate::select::{CallFlags, MethodFlags};
use crate::timing::TimeFlags;
use crate::usage::Usage;

/// What is written, and how it is told.
#[derive(Args, Clone, Default)]
pub(crate) struct Pick {
    #[command(flatten)]
    pub(crate) calls: CallFlags,
    #[command(flatten)]
    pub(crate) methods: MethodFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// One call in N with everything in it, and one sample in N; the same ones in every run. Values are not
    /// scaled up.
    #[arg(long, value_name = "1/N", value_parser = fraction)]
    pub(crate) sample: Option<Fraction>,
    /// Tell samples as spans: a frame ran while it was on the stack of one sample after another.
    #[arg(long, conflicts_with = "as_samples")]
    pub(crate) as_spans: bool,
    /// Tell spans as samples: own time and calls by stack.
    #[arg(long)]
    pub(crate) as_samples: bool,
    /// Calls are told as samples where there are no samples.
    #[arg(skip)]
    pub(crate) calls_without_samples: bool,
    /// With --as-samples, spans of async tracks and lanes count too.
    #[arg(long = "async", requires = "as_samples")]
    pub(crate) lanes: bool,
    /// Only this sampled value, named as `top --value` does; with --as-spans, the one whose samples become spans.
    #[arg(long, value_name = "TYPE")]
    pub(crate) value: Option<String>,
    /// Replace these by pseudonyms wherever they stand; the same value has the same one in a run.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) redact: Vec<PickedRows>,
    /// Make the pseudonyms of every run with this phrase alike; `@FILE` reads it from a file.
    #[arg(long, value_name = "PHRASE", requires = "redact")]
    pub(crate) redact_key: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PickedRows {
    /// Names of machines, pods and containers.
    Hosts,
    /// IP, MAC and mail addresses.
    Addresses,
    /// Literals, bind values and comments of SQL.
    Sql,
    /// Users, paths and queries of URLs.
    Urls,
    /// Paths of files.
    Paths,
    /// All of these.
    All,
}

/// How recordings of one kind go to targets of the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tell {
    Plain,
    Spans,
    Samples,
    /// Calls as samples where there are no samples.
    SamplesOrCalls,
}

fn fraction(text: &str) -> Result<Fraction, String> {
    let number = text
        .strip_prefix("1/")
        .and_then(|of| of.parse::<NonZeroU64>().ok());
    number
        .map(Fraction::one_in)
        .ok_or_else(|| format!("`{text}` is no fraction; write 1/10 for one in ten"))
}

impl Pick {
    /// Returns true if everything is written as it is.
    pub(crate) fn is_empty(&self) -> bool {
        !self.selects()
            && self.time.is_empty()
            && self.redact.is_empty()
            && self.value.is_none()
            && self.tell() == Tell::Plain
    }

    /// Returns true if something is left out.
    pub(crate) fn selects(&self) -> bool {
        self.time.is_bounded()
            || self.sample.is_some()
            || !self.calls.is_empty()
            || !self.methods.is_empty()
    }

    pub(crate) const fn tell(&self) -> Tell {
        if self.as_spans {
            Tell::Spans
        } else if self.as_samples {
            Tell::Samples
        } else if self.calls_without_samples {
            Tell::SamplesOrCalls
        } else {
            Tell::Plain
        }
    }

    /// The only value that is written.
    pub(crate) fn only(&self) -> Option<&str> {
        self.value.as_deref().filter(|_| !self.as_spans)
    }

    /// Refuses to tell recordings as something that `target` does not hold.
    pub(crate) fn check(&self, target: &Format) -> anyhow::Result<()> {
        let missing = match self.tell() {
            Tell::Spans if !target.holds.holds(Feature::Spans) => "--as-spans: {} holds no spans",
            Tell::Samples if !target.holds.holds(Feature::Samples) => {
                "--as-samples: {} holds no samples"
            }
            Tell::Plain | Tell::Spans | Tell::Samples | Tell::SamplesOrCalls => return Ok(()),
        };
        Err(Usage(missing.replace("{}", target.name)).into())
    }

    /// Builds the stage that chooses calls and samples.
    pub(crate) fn choose<'s>(
        &self,
        to: &'s mut dyn Sink,
        limit: usize,
        common: &Common,
    ) -> anyhow::Result<Choose<'s>> {
        let selection = self.calls.selection(common)?;
        Ok(Choose::new(to, selection, self.sample, limit))
    }

    /// Builds what redacts; it has not learned from anything yet.
    pub(crate) fn redaction(&self) -> anyhow::Result<Redaction> {
        let mut categories = Vec::new();
        for kind in &self.redact {
            match kind {
                PickedRows::Hosts => categories.push(Category::Hosts),
                PickedRows::Addresses => categories.push(Category::Addresses),
                PickedRows::Sql => categories.push(Category::Sql),
                PickedRows::Urls => categories.push(Category::Urls),
                PickedRows::Paths => categories.push(Category::Paths),
                PickedRows::All => categories.extend(Category::ALL),
            }
        }
        Ok(Redaction::new(&categories, self.key()?))
    }

    fn key(&self) -> anyhow::Result<(u64, u64)> {
        let Some(phrase) = &self.redact_key else {
            return Ok((random(), random()));
        };
        let Some(path) = phrase.strip_prefix('@') else {
            return Ok(Redaction::key_of(phrase));
        };
        let phrase = fs::read_to_string(path).with_context(|| format!("--redact-key: {path}"))?;
        if phrase.trim().is_empty() {
            return Err(Usage(format!("--redact-key: {path} is empty")).into());
        }
        Ok(Redaction::key_of(phrase.trim_end()))
    }
}

/// A number that nobody can guess: the standard library seeds its hashers from the system.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
