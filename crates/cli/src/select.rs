//! The flags by which views choose calls and frames.

use anyhow::Context;
use clap::Args;
use traceloom_analysis::filter::Selection;
use traceloom_analysis::filter::{Filter, rules};
use traceloom_analysis::names::{FunctionMatch, FunctionPattern, PatternError};
use traceloom_analysis::{
    Adjustment, CallTree, FoundAdjustment, FrameFilter, Predicate, Symbol, callees_of, callers_of,
    usages_of,
};

use crate::args::Common;
use crate::rules::rules_file;
use crate::usage::Usage;

/// Methods that the traced program is shown without.
#[derive(Args, Clone, Default)]
pub(crate) struct MethodFlags {
    /// Leave methods out as if they had not been traced: a file of rules, `class method INCLUDE` or
    /// `EXCLUDE` a line, `*` at an end of a name, the first rule that matches decides.
    #[arg(long, value_name = "FILE")]
    filter_file: Option<String>,
}

impl MethodFlags {
    /// Returns true if every method is shown.
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
    /// Returns true if every call passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter.is_none() && self.min_duration.is_none() && !self.errors
    }

    /// Reads what is asked for; names in it are checked where `common` is read with.
    pub(crate) fn selection(&self, common: &Common) -> anyhow::Result<Selection> {
        if !self.is_empty() {
            common.asked.count_calls();
        }
        Ok(Selection {
            filter: filter(self.filter.as_deref(), common)?,
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
}

impl EventFlags {
    /// Reads `--filter`; names in it are checked where `common` is read with.
    pub(crate) fn filter(&self, common: &Common) -> anyhow::Result<Filter> {
        filter(self.filter.as_deref(), common)
    }
}

/// Reads `--filter`; without one everything passes.
fn filter(text: Option<&str>, common: &Common) -> anyhow::Result<Filter> {
    let Some(text) = text else {
        return Ok(Filter::default());
    };
    let filter: Result<Filter, _> = text.parse();
    let filter = filter.map_err(|error| Usage(format!("--filter: {error}")))?;
    common.asked.filter(&filter);
    Ok(filter)
}

/// Which frames are shown.
#[derive(Args, Clone, Default)]
pub(crate) struct FrameFlags {
    /// Only paths with this function: a name as tables print it, or a regular expression for names.
    #[arg(long, value_name = "NAME|REGEX")]
    focus: Option<FunctionPattern>,
    /// No paths with this function, named as in --focus.
    #[arg(long, value_name = "NAME|REGEX")]
    ignore: Option<FunctionPattern>,
    /// Leave out frames of this function, named as in --focus; their time goes to their callers.
    #[arg(long, value_name = "NAME|REGEX")]
    hide: Option<FunctionPattern>,
}

impl FrameFlags {
    /// Returns true if every frame is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.focus.is_none() && self.ignore.is_none() && self.hide.is_none()
    }

    /// Finds the functions that are meant in one of two recordings that are compared, or among all that are shown.
    pub(crate) fn filter(
        &self,
        names: &[&str],
        compared: bool,
    ) -> anyhow::Result<FrameFilter<'static>> {
        let find = |flag: &str, pattern: Option<&FunctionPattern>| {
            let names = names.iter().copied();
            let found = pattern.map(|pattern| match compared {
                true => pattern.find_alike(names),
                false => pattern.find(names),
            });
            meant(flag, found.transpose())
        };
        Ok(FrameFilter {
            focus: find("--focus", self.focus.as_ref())?,
            ignore: find("--ignore", self.ignore.as_ref())?,
            hide: find("--hide", self.hide.as_ref())?,
        })
    }
}

/// What if methods took other times.
#[derive(Args, Clone, Default)]
pub(crate) struct AdjustFlags {
    /// Show times as if a method's own time were multiplied, `com.acme.Foo.bar*0.5`, or as if it and all it calls were
    /// gone, `com.acme.Foo.bar=0`; `@FILE` reads a rule a line. Methods are named as in --focus. May be repeated.
    #[arg(long, value_name = "METHOD*FACTOR")]
    adjust: Vec<String>,
}

impl AdjustFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.adjust.is_empty()
    }

    /// Reads the rules, and finds the functions that they mean in one of two recordings that are compared, or among
    /// all that are shown.
    pub(crate) fn find(
        &self,
        names: &[&str],
        compared: bool,
    ) -> anyhow::Result<Vec<FoundAdjustment>> {
        let rules = self.rules()?;
        let found = rules
            .iter()
            .map(|rule| rule.find(names.iter().copied(), compared));
        let found: Result<_, PatternError> = found.collect();
        Ok(found.map_err(|error| Usage(format!("--adjust: {error}")))?)
    }

    /// Reads the rules, those of files too.
    fn rules(&self) -> anyhow::Result<Vec<Adjustment>> {
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

/// The function in the middle.
#[derive(Args, Clone, Default)]
pub(crate) struct SandwichFlags {
    /// Only this function, named as in --focus, as root, and below it who called it.
    #[arg(long, value_name = "NAME|REGEX", conflicts_with = "callees_of")]
    callers_of: Option<FunctionPattern>,
    /// Only this function, named as in --focus, as root, and below it what it called.
    #[arg(long, value_name = "NAME|REGEX")]
    callees_of: Option<FunctionPattern>,
    /// Where this function, named as in --focus, is used: only the paths to it, with what it came to there and how
    /// often it was called.
    #[arg(long, value_name = "NAME|REGEX", conflicts_with_all = ["callers_of", "callees_of"])]
    usages: Option<FunctionPattern>,
}

impl SandwichFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.callers_of.is_none() && self.callees_of.is_none() && self.usages.is_none()
    }

    /// Shows the half of each tree that is asked for.
    pub(crate) fn cut(&self, trees: Vec<CallTree>) -> anyhow::Result<Vec<CallTree>> {
        type Cut = fn(&CallTree, &Predicate<'_>) -> CallTree;
        let asked: [(&str, Option<&FunctionPattern>, Cut); 3] = [
            ("--usages", self.usages.as_ref(), usages_of),
            ("--callers-of", self.callers_of.as_ref(), callers_of),
            ("--callees-of", self.callees_of.as_ref(), callees_of),
        ];
        for (flag, pattern, cut) in asked {
            let Some(pattern) = pattern else { continue };
            let matches = function(flag, pattern, &trees)?;
            return Ok(trees.iter().map(|tree| cut(tree, &matches)).collect());
        }
        Ok(trees)
    }
}

/// Finds the functions that a flag means in trees.
pub(crate) fn function(
    flag: &str,
    pattern: &FunctionPattern,
    trees: &[CallTree],
) -> anyhow::Result<Predicate<'static>> {
    let names = trees.iter().flat_map(CallTree::function_names);
    let found = meant(flag, pattern.find(names).map(Some))?;
    found.context("a pattern")
}

fn meant(
    flag: &str,
    found: Result<Option<FunctionMatch>, PatternError>,
) -> anyhow::Result<Option<Predicate<'static>>> {
    let found = found.map_err(|error| Usage(format!("{flag}: {error}")))?;
    let predicate = |found: FunctionMatch| -> Predicate<'static> {
        Box::new(move |symbol: &Symbol| found.is_match(symbol))
    };
    Ok(found.map(predicate))
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
    let bare = || match text.is_empty() {
        true => help(),
        false => format!("`{text}` has no unit; write {text}ms, or ns, us, s, min or h"),
    };
    let split = text
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .ok_or_else(bare)?;
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
        assert!(duration("5").unwrap_err().contains("write 5ms"));
        assert!(duration("").unwrap_err().contains("write a number"));
        assert!(duration("5 parsecs").is_err());
    }
}
