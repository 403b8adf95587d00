//! Comparisons: a field of a call, an operator, a value.

use std::borrow::Cow;

use regex_lite::Regex;

use traceloom_model::bounds::saturated_i64;

use super::{AskedName, CallView};

/// What of a call is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// How long it took.
    Duration,
    /// When it began.
    Time,
    /// The name of its track.
    Thread,
    /// The service it belongs to.
    Service,
    /// The machine.
    Host,
    /// The method with its class.
    Method,
    /// The class with its package.
    Class,
    /// What it did, in words.
    Title,
    /// The producer's word for its kind.
    Kind,
    /// Its trace across processes, in hexadecimal.
    Trace,
    /// Whether it failed.
    Error,
    /// The method, the title, or the value of any parameter.
    Text,
    /// A parameter of this name, in lower case.
    Attribute(String),
    /// A counter of this name in lower case, else a parameter.
    Named(String),
}

const KNOWN: [(&str, Field); 12] = [
    ("duration", Field::Duration),
    ("time", Field::Time),
    ("thread", Field::Thread),
    ("service", Field::Service),
    ("host", Field::Host),
    ("method", Field::Method),
    ("class", Field::Class),
    ("title", Field::Title),
    ("kind", Field::Kind),
    ("trace", Field::Trace),
    ("error", Field::Error),
    ("text", Field::Text),
];

impl Field {
    /// Returns the names of the fields that every format has.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        KNOWN.iter().map(|&(name, _)| name)
    }

    /// Returns the field that has this name in every format.
    pub(super) fn known(name: &str) -> Option<Self> {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        known.map(|(_, field)| field.clone())
    }
}

/// How a field and a value are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`: the same number, or the same text in any case.
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `~`: the regular expression matches somewhere.
    Matches,
    /// `!~`
    MatchesNot,
}

impl Operator {
    /// Returns the operator that `text` begins with, and its length.
    pub(super) fn at(text: &str) -> Option<(Self, usize)> {
        const SIGNS: [(&str, Operator); 8] = [
            ("!=", Operator::NotEqual),
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("!~", Operator::MatchesNot),
            ("=", Operator::Equal),
            ("<", Operator::Less),
            (">", Operator::More),
            ("~", Operator::Matches),
        ];
        let found = SIGNS.iter().find(|(sign, _)| text.starts_with(sign));
        found.map(|&(sign, operator)| (operator, sign.len()))
    }

    fn orders(self) -> bool {
        matches!(self, Self::Less | Self::AtMost | Self::More | Self::AtLeast)
    }

    const fn negates(self) -> bool {
        matches!(self, Self::NotEqual | Self::MatchesNot)
    }

    const fn without_not(self) -> Self {
        match self {
            Self::NotEqual => Self::Equal,
            Self::MatchesNot => Self::Matches,
            other => other,
        }
    }

    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal | Self::Matches => order.is_eq(),
            Self::NotEqual | Self::MatchesNot => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// What a field is compared with.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Number(ExactDecimal),
    Text(String),
    /// Both: an attribute may hold either.
    Either(ExactDecimal, String),
    Regex(Regex),
}

impl PartialEq for Operand {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => one == two,
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Either(_, one), Self::Either(_, two)) => one == two,
            (Self::Regex(one), Self::Regex(two)) => one.as_str() == two.as_str(),
            _ => false,
        }
    }
}

impl Eq for Operand {}

impl Operand {
    /// Reads a value for `field`; the error says what is expected.
    pub(super) fn new(
        field: &Field,
        operator: Operator,
        text: &str,
    ) -> Result<Self, Cow<'static, str>> {
        if matches!(operator, Operator::Matches | Operator::MatchesNot) {
            if matches!(field, Field::Duration | Field::Time | Field::Error) {
                return Err("this is a number; regular expressions are for texts".into());
            }
            let regex = Regex::new(&format!("(?i){text}"));
            return regex
                .map(Self::Regex)
                .map_err(|error| format!("no regular expression: {error}").into());
        }
        let number = ExactDecimal::parse(text);
        match field {
            Field::Duration => match number {
                Some(number) if number.time => Ok(Self::Number(number)),
                Some(number) if number.bare => Err(format!(
                    "expected a duration: `{text}` has no unit; write {text}ms, or ns, us, s, min or h"
                )
                .into()),
                _ => Err("expected a duration: a number and ns, us, ms, s, min or h".into()),
            },
            Field::Time => {
                let since = number.filter(|number| number.time && number.nano % ExactDecimal::SCALE == 0);
                let since =
                    since.and_then(|number| i64::try_from(number.nano / ExactDecimal::SCALE).ok());
                let point = super::time::moment(text).or(since);
                point.map(|ns| Self::Number(ExactDecimal::whole(ns))).ok_or_else(|| {
                    let expected = "expected a time, such as 2026-03-01T12:00:00Z, '2026-03-01 12:00' or \
                                    nanoseconds since 1970";
                    match number {
                        Some(number) if number.bare => {
                            format!("{expected}: `{text}` has no unit and too few digits for nanoseconds").into()
                        }
                        _ => expected.into(),
                    }
                })
            }
            Field::Error => match (operator, text) {
                (Operator::Equal | Operator::NotEqual, "true") => {
                    Ok(Self::Number(ExactDecimal::whole(1)))
                }
                (Operator::Equal | Operator::NotEqual, "false") => {
                    Ok(Self::Number(ExactDecimal::whole(0)))
                }
                _ => Err("error is = true or = false".into()),
            },
            Field::Attribute(_) | Field::Named(_) => match number {
                Some(number) => Ok(Self::Either(number, text.to_lowercase())),
                None if operator.orders() => {
                    Err("expected a number, such as 5, 100ms or 10MB".into())
                }
                None => Ok(Self::Text(text.to_lowercase())),
            },
            _ if operator.orders() => Err("this is a text: =, !=, ~ and !~ compare it".into()),
            _ => Ok(Self::Text(text.to_lowercase())),
        }
    }
}

/// A decimal number, exact: in units of 10⁻⁹ of a nanosecond, a byte or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExactDecimal {
    nano: i128,
    time: bool,
    /// It has no unit.
    bare: bool,
}

impl ExactDecimal {
    const SCALE: i128 = 1_000_000_000;

    const fn whole(value: i64) -> Self {
        Self {
            nano: value as i128 * Self::SCALE,
            time: false,
            bare: true,
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        const UNITS: [(&str, i128, bool); 16] = [
            ("", 1, false),
            ("ns", 1, true),
            ("us", 1_000, true),
            ("µs", 1_000, true),
            ("ms", 1_000_000, true),
            ("s", 1_000_000_000, true),
            ("min", 60_000_000_000, true),
            ("h", 3_600_000_000_000, true),
            ("B", 1, false),
            ("kB", 1_000, false),
            ("MB", 1_000_000, false),
            ("GB", 1_000_000_000, false),
            ("KiB", 1 << 10, false),
            ("MiB", 1 << 20, false),
            ("GiB", 1 << 30, false),
            ("%", 1, false),
        ];
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit());
        let (digits, unit) = rest.split_at(end.unwrap_or(rest.len()));
        let &(_, factor, time) = UNITS.iter().find(|(name, ..)| *name == unit)?;
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() || whole.len() > 18 || decimals.len() > 9 {
            return None;
        }
        let whole: i128 = whole.parse().ok()?;
        let decimals = format!("{decimals:0<9}").parse::<i128>().ok()?;
        let nano = (whole * Self::SCALE + decimals).checked_mul(factor)?;
        Some(Self {
            nano: if negative { -nano } else { nano },
            time,
            bare: unit.is_empty(),
        })
    }

    fn compare(self, value: i64) -> std::cmp::Ordering {
        (i128::from(value) * Self::SCALE).cmp(&self.nano)
    }
}

/// A field, an operator and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    field: Field,
    operator: Operator,
    operand: Operand,
}

impl Comparison {
    pub(super) const fn new(field: Field, operator: Operator, operand: Operand) -> Self {
        Self {
            field,
            operator,
            operand,
        }
    }

    /// Returns the name of the counter or parameter that it is about, if it is about one.
    pub(super) fn asked(&self, word: bool) -> Option<AskedName<'_>> {
        let (Field::Named(name) | Field::Attribute(name)) = &self.field else {
            return None;
        };
        Some(AskedName {
            name,
            bare: matches!(&self.operand, Operand::Either(number, _) if number.bare),
            word,
        })
    }

    /// Returns true if it holds. What a call does not have equals nothing and is in no order; it is other than
    /// every value.
    pub(super) fn accepts(&self, call: &dyn CallView) -> bool {
        match &self.field {
            Field::Duration => {
                let duration = call.duration();
                self.known(duration.map(saturated_i64))
            }
            Field::Time => self.known(call.time()),
            Field::Error => self.number(call.failed().into()),
            Field::Thread => self.any(call.thread().into_iter()),
            Field::Service => self.any(call.service().into_iter()),
            Field::Host => self.any(call.host().into_iter()),
            Field::Kind => self.any(call.kind().into_iter()),
            Field::Trace => self.any(call.trace().map(Cow::Owned).into_iter()),
            Field::Title => self.any(call.title().into_iter()),
            Field::Method => {
                let operator = self.operator.without_not();
                let any = call.methods(&mut |name| {
                    self.text(operator, name) || self.text(operator, super::rules::plain(name))
                });
                any != self.operator.negates()
            }
            Field::Class => {
                let operator = self.operator.without_not();
                let any = call.classes(&mut |name| self.text(operator, name));
                any != self.operator.negates()
            }
            Field::Text => {
                let operator = self.operator.without_not();
                let any = call.methods(&mut |name| self.text(operator, name))
                    || call
                        .title()
                        .is_some_and(|title| self.text(operator, &title))
                    || call.params(&mut |_, value| self.text(operator, value));
                any != self.operator.negates()
            }
            Field::Named(name) => match call.counter(name) {
                Some(value) => self.number(value),
                None => self.param(call, name),
            },
            Field::Attribute(name) => self.param(call, name),
        }
    }

    /// Returns true if a time or what was counted is compared.
    pub(super) fn asks_for_values(&self) -> bool {
        matches!(self.field, Field::Time | Field::Named(_))
    }

    fn known(&self, value: Option<i64>) -> bool {
        value.map_or(self.operator.negates(), |value| self.number(value))
    }

    /// Compares each value; with `!`, none of them may match.
    fn any<'t>(&self, mut values: impl Iterator<Item = Cow<'t, str>>) -> bool {
        let operator = self.operator.without_not();
        values.any(|value| self.text(operator, &value)) != self.operator.negates()
    }

    fn param(&self, call: &dyn CallView, name: &str) -> bool {
        let operator = self.operator.without_not();
        let any = call
            .params(&mut |known, value| known.to_lowercase() == name && self.text(operator, value));
        any != self.operator.negates()
    }

    fn number(&self, value: i64) -> bool {
        match &self.operand {
            Operand::Number(number) | Operand::Either(number, _) => {
                self.operator.holds(number.compare(value))
            }
            Operand::Text(_) | Operand::Regex(_) => {
                let operator = self.operator.without_not();
                self.text(operator, &value.to_string()) != self.operator.negates()
            }
        }
    }

    fn text(&self, operator: Operator, text: &str) -> bool {
        let held = || ExactDecimal::parse(text.trim());
        match &self.operand {
            Operand::Regex(regex) => regex.is_match(text),
            Operand::Number(number) => {
                held().is_some_and(|held| operator.holds(held.nano.cmp(&number.nano)))
            }
            Operand::Either(number, other) => match held() {
                Some(held) => operator.holds(held.nano.cmp(&number.nano)),
                None => !operator.orders() && operator.holds(text.to_lowercase().cmp(other)),
            },
            Operand::Text(other) => operator.holds(text.to_lowercase().cmp(other)),
        }
    }
}
