//! The flags by which views choose calls and frames.

use std::fs::File;
use std::io::Read as _;

use anyhow::Context;
use clap::Args;
use regex_lite::Regex;
use traceloom_analysis::calls::Selection;
use traceloom_analysis::filter::{Filter, rules};
use traceloom_analysis::{
    Adjustment, CallTree, FrameFilter, Symbol, callees_of, callers_of, usages_of,
};

use crate::args::Usage;

/// Methods that the traced program is shown without.
#[derive(Args, Clone, Default)]
pub(crate) struct MethodFlags {
    /// Leave methods out as if they had not been traced: a file of rules, `class method INCLUDE` or
    /// `EXCLUDE` a line, `*` at an end of a name, the first rule that matches decides.
    #[arg(long, value_name = "FILE")]
    filter_file: Option<String>,
}

impl MethodFlags {
    /// Tells whether every method is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter_file.is_none()
    }

    /// Reads the file; no file and no rule admit every method.
    pub(crate) fn rules(&self) -> anyhow::Result<Filter> {
        let Some(path) = &self.filter_file else {
            return Ok(Filter::default());
        };
        let rules = rules(&rules_file("--filter-file", path)?);
        Ok(rules.map_err(|error| Usage(format!("--filter-file: {path}: {error}")))?)
    }
}

/// Which calls count.
#[derive(Args, Clone, Default)]
pub(crate) struct CallFlags {
    /// Calls and samples by words in method, title or parameters: `a b` either, `+a` required, `-a` excluded, `'a b'` a phrase,
    /// `$param=value` in that parameter. Conditions: `duration > 100ms and service = shop and not error`, with
    /// `= != < <= > >= ~ !~` on duration, time, thread, service, host, method, class, title, kind, trace, counters and
    /// parameters; `( )` group.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    filter: Option<String>,
    /// Calls at least this long, such as `500ms` or `2s`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    min_duration: Option<u64>,
    /// Failed calls only.
    #[arg(long)]
    errors: bool,
}

impl CallFlags {
    /// Tells whether every call passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter.is_none() && self.min_duration.is_none() && !self.errors
    }

    pub(crate) fn selection(&self) -> anyhow::Result<Selection> {
        Ok(Selection {
            filter: filter(self.filter.as_deref())?,
            min_duration: self.min_duration.unwrap_or(0),
            errors: self.errors,
        })
    }
}

/// Which events, samples and heap objects count.
#[derive(Args, Clone, Default)]
pub(crate) struct EventFlags {
    /// Only events and samples that pass: words in type, fields or the functions on the stack, and conditions such as
    /// `duration > 10ms and thread ~ exec`; fields of the type stand for parameters. In `monitors` and `objects` the
    /// `class` is the object's.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    filter: Option<String>,
    #[command(flatten)]
    pub(crate) methods: MethodFlags,
}

impl EventFlags {
    pub(crate) fn filter(&self) -> anyhow::Result<Filter> {
        filter(self.filter.as_deref())
    }
}

/// Reads `--filter`; without one everything passes.
fn filter(text: Option<&str>) -> anyhow::Result<Filter> {
    let Some(text) = text else {
        return Ok(Filter::default());
    };
    let filter: Result<Filter, _> = text.parse();
    Ok(filter.map_err(|error| Usage(format!("--filter: {error}")))?)
}

/// Which frames are shown.
#[derive(Args, Clone, Default)]
pub(crate) struct FrameFlags {
    /// Only paths with a frame that matches.
    #[arg(long, value_name = "REGEX")]
    focus: Option<Regex>,
    /// No paths with a frame that matches.
    #[arg(long, value_name = "REGEX")]
    ignore: Option<Regex>,
    /// Leave out frames that match; their time goes to their callers.
    #[arg(long, value_name = "REGEX")]
    hide: Option<Regex>,
}

impl FrameFlags {
    /// Tells whether every frame is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.focus.is_none() && self.ignore.is_none() && self.hide.is_none()
    }

    /// Chooses frames; those of methods that `methods` refuses are hidden too.
    pub(crate) fn filter<'f>(&'f self, methods: &'f Filter) -> FrameFilter<'f> {
        let hide = self.hide.as_ref();
        let hide: Option<traceloom_analysis::Predicate<'f>> = if methods.is_empty() {
            predicate(hide)
        } else {
            Some(Box::new(move |symbol: &Symbol| {
                hide.is_some_and(|hide| hide.is_match(&symbol.name))
                    || !methods.admits(&symbol.name)
            }))
        };
        FrameFilter {
            focus: predicate(self.focus.as_ref()),
            ignore: predicate(self.ignore.as_ref()),
            hide,
        }
    }
}

/// What if methods took other times.
#[derive(Args, Clone, Default)]
pub(crate) struct AdjustFlags {
    /// Show times as if a method's own time were multiplied, `com.acme.Foo.bar*0.5`, or as if it and all it calls were
    /// gone, `com.acme.Foo.bar=0`; `@FILE` reads a rule a line. Methods are regular expressions. May be repeated.
    #[arg(long, value_name = "METHOD*FACTOR")]
    adjust: Vec<String>,
}

impl AdjustFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.adjust.is_empty()
    }

    /// Reads the rules, those of files too.
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<Adjustment>> {
        let mut rules = Vec::new();
        for text in &self.adjust {
            let Some(path) = text.strip_prefix('@') else {
                let rule: Result<Adjustment, _> = text.parse();
                rules.push(rule.map_err(|error| Usage(format!("--adjust: {error}")))?);
                continue;
            };
            let lines = rules_file("--adjust", path)?;
            for (number, line) in (1..).zip(lines.trim_start_matches('\u{feff}').lines()) {
                let line = line.trim();
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                let rule: Result<Adjustment, _> = line.parse();
                let told = |error| Usage(format!("--adjust: {path}: line {number}: {error}"));
                rules.push(rule.map_err(told)?);
            }
        }
        Ok(rules)
    }
}

/// Reads a file of rules that somebody wrote.
fn rules_file(flag: &str, path: &str) -> anyhow::Result<String> {
    const MOST: u64 = 64 << 20;
    let mut text = Vec::new();
    let file = File::open(path).with_context(|| format!("{flag}: {path}"))?;
    let read = file.take(MOST + 1).read_to_end(&mut text);
    if read.with_context(|| format!("{flag}: {path}"))? as u64 > MOST {
        return Err(Usage(format!("{flag}: {path} is larger than {MOST} bytes")).into());
    }
    let text = String::from_utf8(text);
    Ok(text.map_err(|_| Usage(format!("{flag}: {path} is not UTF-8")))?)
}

/// The function in the middle.
#[derive(Args, Clone, Default)]
pub(crate) struct SandwichFlags {
    /// Only functions that match, as roots, and below them who called them.
    #[arg(long, value_name = "REGEX", conflicts_with = "callees_of")]
    callers_of: Option<Regex>,
    /// Only functions that match, as roots, and below them what they called.
    #[arg(long, value_name = "REGEX")]
    callees_of: Option<Regex>,
    /// Where functions that match are used: only the paths to them, with what they came to there and how often they
    /// were called.
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["callers_of", "callees_of"])]
    usages: Option<Regex>,
}

impl SandwichFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.callers_of.is_none() && self.callees_of.is_none() && self.usages.is_none()
    }

    /// Shows the half of the tree that is asked for.
    pub(crate) fn cut(&self, tree: CallTree) -> CallTree {
        if let Some(used) = predicate(self.usages.as_ref()) {
            return usages_of(&tree, &used);
        }
        if let Some(callers) = predicate(self.callers_of.as_ref()) {
            return callers_of(&tree, &callers);
        }
        match predicate(self.callees_of.as_ref()) {
            Some(callees) => callees_of(&tree, &callees),
            None => tree,
        }
    }
}

fn predicate(regex: Option<&Regex>) -> Option<traceloom_analysis::Predicate<'_>> {
    let regex = regex?;
    Some(Box::new(|symbol: &Symbol| regex.is_match(&symbol.name)))
}

/// Reads a duration: a whole or decimal number and a unit.
pub(crate) fn duration(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let help = || format!("`{text}` is no duration; write a number and ns, us, ms, s, min or h");
    let split = text
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .ok_or_else(help)?;
    let (number, unit) = text.split_at(split);
    let &(_, ns) = UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .ok_or_else(help)?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || decimals.len() > 9 {
        return Err(help());
    }
    let whole: u64 = whole.parse().map_err(|_| help())?;
    let scale = 10_u64.pow(u32::try_from(decimals.len()).unwrap_or(0));
    let part = if decimals.is_empty() {
        0
    } else {
        decimals.parse::<u64>().map_err(|_| help())?
    };
    let part = u128::from(part) * u128::from(ns) / u128::from(scale);
    let sum = u128::from(whole) * u128::from(ns) + part;
    u64::try_from(sum).map_err(|_| help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_exactly() {
        assert_eq!(duration("500ms"), Ok(500_000_000));
        assert_eq!(duration("1.5s"), Ok(1_500_000_000));
        assert_eq!(duration("0.000000001s"), Ok(1));
        assert!(duration("5").unwrap_err().contains("write a number"));
        assert!(duration("5 parsecs").is_err());
    }
}
