//! Conditions on a difference, for builds that guard a budget.
//!
//! ```text
//! condition = value "(" function ")" operator limit | "total" operator limit
//! value     = "self" | "total" | "calls"
//! operator  = ">" | ">=" | "<" | "<="
//! limit     = [ "+" | "-" ] number ( "%" | unit )
//! ```
//!
//! With a sign the change is compared, in percent or in the value's unit; without one the second recording's
//! value.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use traceloom_model::bounds::saturated_i64;

use super::{Amounts, Diff};
use crate::MeasureUnit;
use crate::names::{alike, find_alike};

/// A condition that a difference must not meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    text: String,
    value: BudgetValue,
    function: Option<String>,
    operator: BudgetOperator,
    limit: BudgetLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BudgetValue {
    Own,
    Total,
    Calls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BudgetOperator {
    More,
    AtLeast,
    Less,
    AtMost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BudgetLimit {
    /// A change in percent.
    Percent(f64),
    /// A change in the unit of the value.
    Change(f64),
    /// A value.
    Value(f64),
}

/// The result of checking a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The condition holds: the budget is broken.
    pub met: bool,
    /// The values compared, in words.
    pub text: String,
}

/// Why a text is not a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetError {
    /// What is expected.
    pub message: String,
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BudgetError {}

fn refused<T>(message: impl Into<String>) -> Result<T, BudgetError> {
    Err(BudgetError {
        message: message.into(),
    })
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        const SIGNS: [(&str, BudgetOperator); 4] = [
            (">=", BudgetOperator::AtLeast),
            ("<=", BudgetOperator::AtMost),
            (">", BudgetOperator::More),
            ("<", BudgetOperator::Less),
        ];
        // A function's name may hold operators; the limit does not.
        let found = text.rfind(['>', '<']).map(|at| text.split_at(at));
        let Some((left, right)) = found else {
            return refused("expected a comparison, such as self(com.acme.Foo.bar) > +10%");
        };
        let operator = SIGNS.iter().find(|(sign, _)| right.starts_with(sign));
        let &(sign, operator) = operator.unwrap_or(&SIGNS[2]);
        let limit = limit(right.get(sign.len()..).unwrap_or("").trim())?;
        let left = left.trim();
        let (value, function) = if left == "total" {
            (BudgetValue::Total, None)
        } else {
            let inside = left.strip_suffix(')').and_then(|left| left.split_once('('));
            match inside {
                Some(("self", name)) => (BudgetValue::Own, Some(name)),
                Some(("total", name)) => (BudgetValue::Total, Some(name)),
                Some(("calls", name)) => (BudgetValue::Calls, Some(name)),
                _ => {
                    return refused(format!(
                        "`{left}`: expected self(FUNCTION), total(FUNCTION), calls(FUNCTION) or total"
                    ));
                }
            }
        };
        if function.is_some_and(|name| name.trim().is_empty()) {
            return refused("expected the name of a function in the parentheses");
        }
        Ok(Self {
            text: text.trim().to_owned(),
            value,
            function: function.map(|name| name.trim().to_owned()),
            operator,
            limit,
        })
    }
}

fn limit(text: &str) -> Result<BudgetLimit, BudgetError> {
    const UNITS: [(&str, f64); 15] = [
        ("", 1.0),
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 6e10),
        ("h", 3.6e12),
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ];
    let expected = || {
        refused(format!(
            "`{text}`: expected a limit, such as +10%, +5ms or 2s"
        ))
    };
    let signed = text.starts_with(['+', '-']);
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let Ok(number) = digits.parse::<f64>() else {
        return expected();
    };
    let unit = unit.trim();
    if unit == "%" {
        return if signed {
            Ok(BudgetLimit::Percent(number))
        } else {
            refused(format!(
                "`{text}`: a limit in percent is of the change: write +{text}"
            ))
        };
    }
    let Some(&(_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return expected();
    };
    Ok(if signed {
        BudgetLimit::Change(number * factor)
    } else {
        BudgetLimit::Value(number * factor)
    })
}

impl Budget {
    /// Returns the condition as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks the condition.
    ///
    /// # Errors
    /// When neither recording has the function: a budget that guards nothing is a mistake.
    pub fn check(&self, diff: &Diff) -> Result<Verdict, BudgetError> {
        let (before, after) = self.values(diff)?;
        let change = after - before;
        let value = match self.limit {
            BudgetLimit::Value(_) => after,
            BudgetLimit::Change(_) => change,
            BudgetLimit::Percent(_) if before == 0.0 && change == 0.0 => 0.0,
            // From nothing to something is more than any share.
            BudgetLimit::Percent(_) if before == 0.0 => f64::INFINITY.copysign(change),
            BudgetLimit::Percent(_) => change * 100.0 / before.abs(),
        };
        let (BudgetLimit::Percent(limit) | BudgetLimit::Change(limit) | BudgetLimit::Value(limit)) =
            self.limit;
        let met = match self.operator {
            BudgetOperator::More => value > limit,
            BudgetOperator::AtLeast => value >= limit,
            BudgetOperator::Less => value < limit,
            BudgetOperator::AtMost => value <= limit,
        };
        let shown = |value: f64| self.shown(diff, value);
        let percent = match before {
            0.0 if after == 0.0 => String::new(),
            0.0 => ", new".to_owned(),
            _ => format!(", {:+.1} %", change * 100.0 / before.abs()),
        };
        Ok(Verdict {
            met,
            text: format!("{} before, {} after{percent}", shown(before), shown(after)),
        })
    }

    fn values(&self, diff: &Diff) -> Result<(f64, f64), BudgetError> {
        let Some(name) = &self.function else {
            let (before, after) = (diff.before.tree.total, diff.after.tree.total);
            return Ok((diff.of_before(before), diff.of_after(after)));
        };
        let symbol_name = |row: &&super::DiffRow| diff.symbol(row.symbol).map(|s| s.name.as_str());
        let names = diff.rows.iter().filter_map(|row| symbol_name(&row));
        let found = find_alike(name, names).map_err(|error| BudgetError {
            message: error.to_string(),
        })?;
        let row = found.and_then(|found| {
            let mut rows = diff.rows.iter();
            rows.find(|row| symbol_name(row) == Some(found))
        });
        let Some(row) = row else {
            let near = method_alike(name, diff);
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return refused(format!("neither recording has a function {name}{hint}"));
        };
        let value = |amounts: &Amounts| match self.value {
            BudgetValue::Own => amounts.own,
            BudgetValue::Total => amounts.total,
            BudgetValue::Calls => saturated_i64(amounts.count),
        };
        Ok((
            diff.of_before(value(&row.before)),
            diff.of_after(value(&row.after)),
        ))
    }

    fn shown(&self, diff: &Diff, value: f64) -> String {
        let unit = match self.value {
            BudgetValue::Calls => &MeasureUnit::Count,
            BudgetValue::Own | BudgetValue::Total => &diff.measure.unit,
        };
        super::shown(unit, diff.per, value)
    }
}

/// Returns a function whose method is called like that of `name`, of any class.
fn method_alike(name: &str, diff: &Diff) -> Option<String> {
    fn method(name: &str) -> &str {
        name.rsplit(['.', ':']).next().unwrap_or(name)
    }
    let wanted = alike(name);
    let mut names = diff.symbols.iter().map(|symbol| alike(&symbol.name));
    let found = names.find(|name| method(name).eq_ignore_ascii_case(method(&wanted)));
    found.map(Cow::into_owned)
}
