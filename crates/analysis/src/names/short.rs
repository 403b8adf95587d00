//! Short names that stay unique in a view.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use traceloom_model::printable;

use super::shorten;

/// Returns a name as a table prints it: escaped, without blanks around it.
pub(super) fn printed(name: &str) -> Cow<'_, str> {
    match printable(name) {
        Cow::Borrowed(text) => text.trim().into(),
        Cow::Owned(text) => text.trim().to_owned().into(),
    }
}

/// The names of all functions of a view, which a name is shortened against.
///
/// A function keeps its full name where its short name is another function's too, shown or not: what a table prints is
/// accepted by the flags that look for a function, see [`FunctionPattern`].
///
/// ```
/// use traceloom_analysis::names::ShortNames;
///
/// let names = ["com.acme.Order.buy", "com.ajax.Order.buy", "com.acme.Order.sell"];
/// let short = ShortNames::new(names);
/// assert_eq!(names.map(|name| short.show(name).into_owned()),
///            ["com.acme.Order.buy", "com.ajax.Order.buy", "c.a.Order.sell"]);
/// ```
///
/// [`FunctionPattern`]: super::FunctionPattern
#[derive(Clone, Debug, Default)]
pub struct ShortNames<'n> {
    names: Vec<&'n str>,
    owners: OnceCell<Owners>,
    forms: OnceCell<Vec<(String, u32)>>,
}

/// Of each hash of a short or full name the function that has it, [`Owners::SHARED`] where several have.
#[derive(Clone, Debug, Default)]
struct Owners(HashMap<u64, u32, RandomState>);

impl Owners {
    const SHARED: u32 = u32::MAX;

    fn new(names: &[&str]) -> Self {
        let mut owners = Self::default();
        owners.0.reserve(names.len());
        for (number, &name) in (0..).zip(names) {
            let short = shorten(name);
            if *short != *name {
                owners.add(names, &short, number);
            }
            owners.add(names, name, number);
        }
        owners
    }

    fn add(&mut self, names: &[&str], form: &str, number: u32) {
        let name = |number: u32| names.get(number as usize);
        let owner = self.0.entry(self.0.hasher().hash_one(form));
        let owner = owner.or_insert(number);
        if *owner != number && name(*owner) != name(number) {
            *owner = Self::SHARED;
        }
    }

    fn is_shared(&self, form: &str) -> bool {
        self.0.get(&self.0.hasher().hash_one(form)) == Some(&Self::SHARED)
    }
}

impl<'n> ShortNames<'n> {
    /// Takes all names of a view; a name may come more than once.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self {
            names: names.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns the short name of a function, or its full name where the short one is not its alone.
    #[must_use]
    pub fn show<'f>(&self, name: &'f str) -> Cow<'f, str> {
        let short = shorten(name);
        let owners = self.owners.get_or_init(|| Owners::new(&self.names));
        match *short != *name && owners.is_shared(&short) {
            true => name.into(),
            false => short,
        }
    }

    /// Returns `true` if only one function has a name of this beginning and this end.
    #[must_use]
    pub fn is_unique(&self, head: &str, tail: &str) -> bool {
        let forms = self.forms.get_or_init(|| {
            let mut forms = Vec::with_capacity(self.names.len() * 2);
            for (number, name) in (0..).zip(&self.names) {
                let short = shorten(name);
                if *short != **name {
                    forms.push((printed(&short).into_owned(), number));
                }
                forms.push((printed(name).into_owned(), number));
            }
            forms.sort_unstable();
            forms
        });
        let first = forms.partition_point(|(form, _)| form.as_str() < head);
        let matching = forms.iter().skip(first);
        let matching = matching.take_while(|(form, _)| form.starts_with(head));
        let mut matching = matching
            .filter(|(form, _)| has_ends(form, head, tail))
            .map(|(_, number)| self.names.get(*number as usize));
        let Some(one) = matching.next() else {
            return true;
        };
        matching.all(|other| other == one)
    }
}

/// Returns a frame, `NAME:LINE`, with its name as `names` shows it.
#[must_use]
pub fn short_frame(frame: &str, names: &ShortNames<'_>) -> String {
    let (name, line) = without_line(frame);
    format!("{}{line}", names.show(name))
}

/// Splits a frame into its function's name and `:LINE`, which may be missing.
#[must_use]
pub fn without_line(frame: &str) -> (&str, &str) {
    let line = frame.rfind(':').map(|colon| frame.split_at(colon));
    let number = |line: &str| {
        let mut digits = line.bytes().skip(1).peekable();
        digits.peek().is_some() && digits.all(|byte| byte.is_ascii_digit())
    };
    // `std::12` is a path.
    let is_line = |(name, line): &(&str, &str)| number(line) && !name.ends_with(':');
    line.filter(is_line).unwrap_or((frame, ""))
}

/// Returns `true` if `head…tail` may stand for `form`.
pub(super) fn has_ends(form: &str, head: &str, tail: &str) -> bool {
    form.len() > head.len() + tail.len() && form.starts_with(head) && form.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_that_is_another_functions_full_name_is_not_used() {
        let names = ["a.b.C.run", "aa.bb.C.run", "xx.yy.C.run", "xx.yy.C.run"];
        let short = ShortNames::new(names);
        assert_eq!(short.show("a.b.C.run"), "a.b.C.run");
        assert_eq!(short.show("aa.bb.C.run"), "aa.bb.C.run");
        // Two views have the same function.
        assert_eq!(short.show("xx.yy.C.run"), "x.y.C.run");
    }

    #[test]
    fn the_ends_of_a_name_may_be_several_functions() {
        let short = ShortNames::new(["com.acme.First.run", "com.acme.Second.run", "main"]);
        assert!(!short.is_unique("c.a.", ".run"));
        assert!(short.is_unique("c.a.F", ".run"));
        assert!(short.is_unique("com.acme.S", "n"));
        assert!(short.is_unique("", "main"));
        assert!(!short.is_unique("com", "run"));
    }
}
