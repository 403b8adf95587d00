//! What pages and answers of a collector go by: the kinds of work, and the filters that everybody is offered.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use tempfile::NamedTempFile;
use traceloom_analysis::hotspots::Categories;
use traceloom_analysis::query::Query;
use traceloom_server::{Answers, Catalog, Question};

use crate::answers::AnswerRules;
use crate::args::{Common, SCHEMA};
use crate::usage::Usage;

/// What pages go by; the files are read when the collector begins.
#[derive(Args)]
#[command(next_help_heading = "Pages")]
pub(crate) struct ViewFlags {
    /// Rules for kinds of work in pages and answers, in place of the ones that come along: a category and a prefix a line;
    /// `top --categories default` prints those.
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
    /// Filters that pages offer to everybody, a line each: `slow orders = title ~ orders and duration > 1s`.
    #[arg(long, value_name = "FILE")]
    filters: Option<PathBuf>,
    /// MiB of captures that a question reads, the newest first and one capture at least; the answer says what it left out, and how to ask
    /// for more.
    #[arg(long, value_name = "N", default_value_t = 5 << 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) question_mib: u64,
}

/// A filter with its name.
struct NamedFilter {
    name: String,
    filter: String,
}

impl ViewFlags {
    /// Returns the names of the files, by their flags.
    pub(crate) fn files(&self) -> [(&'static str, &Option<PathBuf>); 2] {
        [("categories", &self.categories), ("filters", &self.filters)]
    }

    /// Reads the rules: as they stand in the file, or as they come along.
    fn rules(&self) -> anyhow::Result<String> {
        let Some(path) = &self.categories else {
            return Ok(Categories::DEFAULT.to_owned());
        };
        let text = read(path)?;
        let rules: Result<Categories, _> = text.parse();
        rules.map_err(|error| Usage(format!("--categories: {}: {error}", path.display())))?;
        Ok(text)
    }

    /// Reads the filters.
    fn filters(&self) -> anyhow::Result<Vec<NamedFilter>> {
        let Some(path) = &self.filters else {
            return Ok(Vec::new());
        };
        let text = read(path)?;
        let wrong = |(line, reason)| {
            Usage(format!(
                "--filters: {}: line {line}: {reason}",
                path.display()
            ))
        };
        Ok(filters(&text).map_err(wrong)?)
    }

    /// Returns what pages show of both.
    pub(crate) fn shown(&self) -> anyhow::Result<serde_json::Value> {
        let filters = self.filters()?.into_iter();
        let filters = filters.map(|one| json!({"name": one.name, "filter": one.filter}));
        Ok(json!({
            "categories": self.rules()?,
            "filters": filters.collect::<Vec<_>>(),
        }))
    }

    /// Returns who answers. The rules and the schema are those of now, whatever becomes of their files: answers are kept
    /// until something arrives.
    pub(crate) fn answers(&self, common: &Common) -> anyhow::Result<Answers> {
        let rules = match &self.categories {
            None => None,
            Some(_) => Some(copied("categories", &self.rules()?)?),
        };
        let schema = match common.schema() {
            None => None,
            Some(path) => Some(copied("schema", &read(&path)?)?),
        };
        let budget = Some(self.question_mib.saturating_mul(1 << 20));
        let command = move |catalog: &Catalog, question: &Question| {
            let kinds = rules.as_ref().map(NamedTempFile::path);
            let rules = AnswerRules { kinds, budget };
            let mut command = crate::answers::command(catalog, &rules, question)?;
            command
                .command
                .envs(schema.iter().map(|copy| (SCHEMA, copy.path())));
            Ok(command)
        };
        Ok(Answers(Arc::new(command)))
    }
}

/// Writes a file that goes with the collector.
fn copied(name: &str, text: &str) -> std::io::Result<NamedTempFile> {
    let mut copy = NamedTempFile::with_prefix(format!("traceloom-{name}-"))?;
    copy.write_all(text.as_bytes())?;
    Ok(copy)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// Reads lines of a name, `=` and a filter; empty ones, and those that begin with `#`, say nothing. The error has its line.
fn filters(text: &str) -> Result<Vec<NamedFilter>, (usize, String)> {
    let mut found: Vec<NamedFilter> = Vec::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts = line.split_once('=');
        let parts = parts.map(|(name, filter)| (name.trim(), filter.trim()));
        let Some((name, filter)) =
            parts.filter(|(name, filter)| !name.is_empty() && !filter.is_empty())
        else {
            return Err((
                number,
                format!("`{line}`: expected a name, `=` and a filter"),
            ));
        };
        if found.iter().any(|known| known.name == name) {
            return Err((number, format!("there are two filters `{name}`")));
        }
        Query::of([("q", filter)]).map_err(|error| (number, format!("{name}: {error}")))?;
        found.push(NamedFilter {
            name: name.to_owned(),
            filter: filter.to_owned(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
        let found = filters(text)?.into_iter();
        Ok(found.map(|one| (one.name, one.filter)).collect())
    }

    #[test]
    fn a_filter_has_a_name_and_may_have_equal_signs() {
        let found = read("\u{feff}# of the shop\n\n slow = duration > 1s \nof a user = $user=7\n");
        let expected = [("slow", "duration > 1s"), ("of a user", "$user=7")];
        assert_eq!(
            found.expect("filters"),
            expected.map(|(name, filter)| (name.to_owned(), filter.to_owned()))
        );
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, line, says) in [
            ("slow", 1, "expected a name"),
            ("\n= error", 2, "expected a name"),
            ("slow =", 1, "expected a name"),
            ("a = error\n#\na = error", 3, "two filters `a`"),
            ("a = duration >", 1, "(column "),
        ] {
            let (at, reason) = read(text).expect_err(text);
            assert_eq!(at, line, "{text}");
            assert!(reason.contains(says), "{reason}");
        }
    }
}
