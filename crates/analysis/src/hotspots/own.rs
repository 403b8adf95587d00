//! Which functions are the program's own.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::Symbol;
use crate::colour::package_of;

/// Percent of what no rule matches from which a package is the program's own.
const LARGE: u64 = 20;

/// The packages that are most of what no rule of the categories matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnCode {
    packages: Vec<String>,
}

impl OwnCode {
    /// Finds the packages of functions, each with its weight and category.
    pub(crate) fn find<'s>(
        functions: impl Iterator<Item = (&'s Symbol, u64, Option<usize>)>,
    ) -> Self {
        let mut weights: HashMap<&str, u64, RandomState> = HashMap::default();
        let mut all = 0_u64;
        for (symbol, weight, category) in functions {
            if symbol.group || category.is_some() {
                continue;
            }
            let Some(package) = package_of(symbol) else {
                continue;
            };
            let sum = weights.entry(package).or_default();
            *sum = sum.saturating_add(weight);
            all = all.saturating_add(weight);
        }
        let is_large = |&(_, &weight): &(&&str, &u64)| {
            u128::from(weight) * 100 >= u128::from(all) * u128::from(LARGE) && weight > 0
        };
        let mut packages: Vec<String> = weights
            .iter()
            .filter(is_large)
            .map(|(package, _)| (*package).to_owned())
            .collect();
        packages.sort_unstable();
        Self { packages }
    }

    /// Returns `true` for a function of these packages.
    pub(crate) fn has(&self, symbol: &Symbol) -> bool {
        !symbol.group
            && package_of(symbol).is_some_and(|package| {
                self.packages
                    .binary_search_by(|known| known.as_str().cmp(package))
                    .is_ok()
            })
    }

    /// Returns the packages, sorted.
    pub(crate) fn packages(&self) -> &[String] {
        &self.packages
    }
}
