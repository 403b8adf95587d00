//! One value of an event, as a cell: comparable, and printed for people, exactly, or as JSON.

use std::cmp::Ordering;

use serde_json::json;
use traceloom_analysis::names::{ShortNames, short_frame};
use traceloom_model::{Recording, Unit, Value};

use crate::numbers::{duration, size};
use crate::style::Style;

/// From here on nanoseconds are a date: as a length of time this would be three years.
const DATE: i128 = 100_000_000_000_000_000;

/// A value with what is needed to print it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PrintedValue {
    Nothing,
    Bool(bool),
    Integer(i128, AmountUnit),
    Float(f64, AmountUnit),
    /// Nanoseconds since the Unix epoch.
    /// Nanoseconds, and whether the clock has a date.
    Time(i64, bool),
    Text(String),
    /// Frames, innermost first.
    Stack(Vec<String>),
    List(Vec<PrintedValue>),
    Map(Vec<(String, PrintedValue)>),
}

/// The unit of a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AmountUnit {
    Plain,
    Nanoseconds,
    Bytes,
    Percent,
    Of(String),
}

impl AmountUnit {
    pub(super) fn of(unit: Unit, tables: &Recording) -> Self {
        match unit {
            Unit::Nanoseconds => Self::Nanoseconds,
            Unit::Bytes => Self::Bytes,
            Unit::Percent => Self::Percent,
            Unit::Other(name) => Self::Of(tables.text(name).into_owned()),
            Unit::Count | Unit::Chars => Self::Plain,
        }
    }
}

impl PrintedValue {
    /// Takes a value of the model; what is inside of it has the unit of the whole.
    pub(super) fn of(value: &Value, amount: &AmountUnit, tables: &Recording) -> Self {
        let inner = |value: &Value| Self::of(value, amount, tables);
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(value) => Self::Bool(*value),
            Value::I64(value) => Self::Integer((*value).into(), amount.clone()),
            Value::U64(value) => Self::Integer((*value).into(), amount.clone()),
            Value::F64(value) => Self::Float(*value, amount.clone()),
            Value::Text(id) => Self::Text(tables.text(*id).into_owned()),
            Value::Bytes(bytes) => {
                Self::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            Value::List(_, items) => Self::List(items.iter().map(inner).collect()),
            Value::Map(pairs) => {
                let pair = |(key, value): &(Value, Value)| (inner(key).exact(), inner(value));
                Self::Map(pairs.iter().map(pair).collect())
            }
            Value::Exception(id) => {
                let row = tables.exception(*id);
                let text = |id| tables.text(id).into_owned();
                let class = row.and_then(|row| row.class).map(text).unwrap_or_default();
                let message = row.and_then(|row| row.message).map(text);
                Self::Text(message.map_or(class.clone(), |message| format!("{class}: {message}")))
            }
        }
    }

    /// Reaches into maps by name and into lists by number.
    pub(super) fn at(self, path: &[String]) -> Self {
        let Some((name, rest)) = path.split_first() else {
            return self;
        };
        let inner = match self {
            Self::Map(pairs) => pairs
                .into_iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            Self::List(items) => name
                .parse::<usize>()
                .ok()
                .and_then(|at| items.into_iter().nth(at)),
            _ => None,
        };
        inner.map_or(Self::Nothing, |cell| cell.at(rest))
    }

    /// Orders cells of a column: nothing first, numbers as numbers, the rest as text.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let number = |cell: &Self| match cell {
            Self::Integer(value, _) => Some(SortNumber::Integer(*value)),
            Self::Time(value, _) => Some(SortNumber::Integer((*value).into())),
            Self::Bool(value) => Some(SortNumber::Integer((*value).into())),
            Self::Float(value, _) => Some(SortNumber::Float(*value)),
            _ => None,
        };
        match (self, other, number(self), number(other)) {
            (Self::Nothing, Self::Nothing, ..) => Ordering::Equal,
            (Self::Nothing, ..) => Ordering::Less,
            (_, Self::Nothing, ..) => Ordering::Greater,
            (_, _, Some(a), Some(b)) => a.compare(b),
            (_, _, Some(_), None) => Ordering::Less,
            (_, _, None, Some(_)) => Ordering::Greater,
            _ => self.exact().cmp(&other.exact()),
        }
    }

    /// Prints for people: amounts in the unit a person would take, and frames by the short `names`; whole without them.
    pub(super) fn shown(&self, style: &Style, names: Option<&ShortNames<'_>>) -> String {
        let wide = names.is_none();
        match self {
            Self::Time(ns, dated) => style.when(*dated, *ns),
            Self::Integer(value, AmountUnit::Nanoseconds) if *value >= DATE => {
                i64::try_from(*value).map_or_else(|_| value.to_string(), |ns| style.when(true, ns))
            }
            Self::Integer(value, amount) => integer(*value, amount, wide),
            Self::Float(value, AmountUnit::Plain) => format!("{value}"),
            Self::Float(value, AmountUnit::Percent) => format!("{value:.2} %"),
            Self::Float(value, AmountUnit::Nanoseconds) => format!("{value} ns"),
            Self::Float(value, AmountUnit::Bytes) => format!("{value} B"),
            Self::Float(value, AmountUnit::Of(unit)) => format!("{value} {unit}"),
            Self::Stack(frames) => match (names, frames.first()) {
                (Some(names), Some(frame)) => short_frame(frame, names),
                _ => self.exact(),
            },
            Self::Text(text) => text.replace(['\n', '\r', '\t'], " "),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(|item| item.shown(style, names)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(pairs) => {
                let pair =
                    |(key, value): &(String, Self)| format!("{key}: {}", value.shown(style, names));
                let pairs: Vec<_> = pairs.iter().map(pair).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            Self::Nothing | Self::Bool(_) => self.exact(),
        }
    }

    /// Prints every digit, without unit.
    pub(super) fn exact(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value, _) => value.to_string(),
            Self::Float(value, _) => value.to_string(),
            Self::Time(ns, _) => ns.to_string(),
            Self::Text(text) => text.clone(),
            Self::Stack(frames) => frames.join(" < "),
            Self::List(_) | Self::Map(_) => self.json().to_string(),
        }
    }

    pub(super) fn json(&self) -> serde_json::Value {
        match self {
            Self::Nothing => serde_json::Value::Null,
            Self::Bool(value) => json!(value),
            // Both 64-bit integer types fit.
            Self::Integer(value, _) => i64::try_from(*value).map_or_else(
                |_| json!(u64::try_from(*value).unwrap_or(0)),
                |value| json!(value),
            ),
            Self::Float(value, _) if value.is_nan() => json!("NaN"),
            Self::Float(value, _) if value.is_infinite() => {
                json!(if *value > 0.0 {
                    "Infinity"
                } else {
                    "-Infinity"
                })
            }
            Self::Float(value, _) => json!(value),
            Self::Time(ns, _) => json!(ns),
            Self::Text(text) => json!(text),
            Self::Stack(frames) => json!(frames),
            Self::List(items) => items.iter().map(Self::json).collect(),
            Self::Map(pairs) => {
                let pairs = pairs.iter();
                let object: serde_json::Map<_, _> = pairs
                    .map(|(key, value)| (key.clone(), value.json()))
                    .collect();
                object.into()
            }
        }
    }
}

fn integer(value: i128, amount: &AmountUnit, wide: bool) -> String {
    match (amount, u64::try_from(value)) {
        (AmountUnit::Plain, _) => value.to_string(),
        (AmountUnit::Percent, _) => format!("{value} %"),
        (AmountUnit::Of(unit), _) => format!("{value} {unit}"),
        (AmountUnit::Nanoseconds, Ok(ns)) if !wide => duration(ns),
        (AmountUnit::Bytes, Ok(bytes)) if !wide => size(bytes),
        (AmountUnit::Nanoseconds, _) => format!("{value} ns"),
        (AmountUnit::Bytes, _) => format!("{value} B"),
    }
}

/// A number of either kind: integers are compared as such, so that large ones keep their order.
enum SortNumber {
    Integer(i128),
    Float(f64),
}

impl SortNumber {
    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            (a, b) => a.float().total_cmp(&b.float()),
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_numbers_and_nothing_comes_first() {
        let mut cells = [
            PrintedValue::Integer(10, AmountUnit::Plain),
            PrintedValue::Text("9".into()),
            PrintedValue::Float(9.5, AmountUnit::Plain),
            PrintedValue::Nothing,
        ];
        cells.sort_by(PrintedValue::compare);
        let texts: Vec<_> = cells.iter().map(PrintedValue::exact).collect();
        assert_eq!(texts, ["", "9.5", "10", "9"]);
    }

    #[test]
    fn a_path_reaches_into_maps_and_lists() {
        let one = PrintedValue::Integer(1, AmountUnit::Plain);
        let list = PrintedValue::List(vec![PrintedValue::Nothing, one.clone()]);
        let map = PrintedValue::Map(vec![("sizes".into(), list)]);
        let path = |text: &str| -> Vec<String> { text.split('.').map(Into::into).collect() };
        assert_eq!(map.clone().at(&path("sizes.1")), one);
        assert_eq!(map.at(&path("sizes.2.x")), PrintedValue::Nothing);
    }
}
