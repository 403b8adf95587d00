//! Kinds of work, which `top --hotspots` adds up by and the flame graph's page colours by.

use std::fs;

use anyhow::Context;
use clap::Args;
use traceloom_analysis::hotspots::Categories;

use crate::usage::Usage;

/// The rules of kinds of work.
#[derive(Args, Clone, Default)]
pub(crate) struct CategoryFlags {
    /// Rules for kinds of work in place of the ones that come along: a category and a prefix a line;
    /// `top --categories default` prints those.
    #[arg(long, value_name = "FILE")]
    pub(crate) categories: Option<String>,
}

impl CategoryFlags {
    /// Returns true if the rules that come along are asked for by their word.
    pub(crate) fn is_default(&self) -> bool {
        self.categories.as_deref() == Some("default")
    }

    /// Reads the rules.
    pub(crate) fn rules(&self) -> anyhow::Result<Categories> {
        let Some(path) = self.categories.as_ref().filter(|_| !self.is_default()) else {
            return Ok(Categories::default());
        };
        let text = fs::read_to_string(path).with_context(|| path.clone())?;
        let rules = text.parse();
        Ok(rules.map_err(|error| Usage(format!("--categories: {path}: {error}")))?)
    }
}
