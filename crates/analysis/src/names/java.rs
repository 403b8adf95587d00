//! Java names: which ones are, their packages, and shorter forms.

use std::borrow::Cow;

use super::short::without_line;

/// Splits a name before its argument list, if it has one.
fn without_arguments(name: &str) -> &str {
    name.split_once('(').map_or(name, |(name, _)| name)
}

/// Returns the start of the class in `package.Class.method`, or `None` when the name is no such thing.
///
/// Packages are lower case by convention and classes begin with a capital; generated classes such as
/// `com.sun.proxy.$Proxy12` begin with a dollar.
fn class_start(name: &str, separator: char) -> Option<usize> {
    let mut start = 0;
    for part in name.split(separator) {
        let first = part.chars().next()?;
        if first.is_uppercase() || first == '$' {
            return (start > 0).then_some(start);
        }
        let letters = part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !letters || first.is_ascii_digit() {
            return None;
        }
        start += part.len() + separator.len_utf8();
    }
    None
}

fn separator(name: &str) -> char {
    // `java/lang/String.length` is how class files and JFR write it.
    if name.contains('/') { '/' } else { '.' }
}

/// Returns the package of a Java method, none for names of another shape.
///
/// ```
/// # use traceloom_analysis::names::package;
/// assert_eq!(package("com.acme.shop.Order.buy(int)"), Some("com.acme.shop"));
/// assert_eq!(package("core::fmt::write"), None);
/// ```
#[must_use]
pub fn package(name: &str) -> Option<&str> {
    let name = without_arguments(name);
    let start = class_start(name, separator(name))?;
    name.get(..start - 1)
}

/// Shortens a Java method to what tells it apart: initials of the package, class, method.
///
/// Numbers that a run of the program makes up (lambdas, proxies, accessors) are left out. Names of
/// another shape come back as they are.
///
/// ```
/// # use traceloom_analysis::names::shorten;
/// assert_eq!(shorten("com.acme.shop.Order.buy(int, java.lang.String)"), "c.a.s.Order.buy");
/// assert_eq!(shorten("java/util/HashMap.get"), "j.u.HashMap.get");
/// assert_eq!(shorten("com.acme.shop.Order.buy:12"), "c.a.s.Order.buy:12");
/// assert_eq!(shorten("std::thread::park"), "std::thread::park");
/// ```
#[must_use]
pub fn shorten(name: &str) -> Cow<'_, str> {
    let (function, line) = without_line(name);
    match short_form(function) {
        Some((initials, class)) => format!("{initials}{class}{line}").into(),
        None => name.into(),
    }
}

/// Returns the initials of a Java method's package, and its class and method; none for names of another shape.
pub(super) fn short_form(name: &str) -> Option<(String, Cow<'_, str>)> {
    let plain = without_arguments(name);
    let separator = separator(plain);
    let (package, class) = plain.split_at_checked(class_start(plain, separator)?)?;
    let mut initials = String::new();
    for part in package.split(separator).filter(|part| !part.is_empty()) {
        initials.extend(part.chars().next());
        initials.push('.');
    }
    Some((initials, without_made_up_numbers(class)))
}

/// `Foo$$Lambda$14/0x00000008000c0840.run` becomes `Foo$$Lambda.run`.
fn without_made_up_numbers(class: &str) -> Cow<'_, str> {
    let Some((before, after)) = [
        "$$Lambda",
        "GeneratedMethodAccessor",
        "$Proxy",
        "$$FastClassByCGLIB",
    ]
    .iter()
    .find_map(|marker| {
        let end = class.find(marker)? + marker.len();
        class.split_at_checked(end)
    }) else {
        return class.into();
    };
    let method = after.rfind('.').and_then(|dot| after.get(dot..));
    format!("{before}{}", method.unwrap_or("")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_java_names() {
        let table = [
            ("org.acme.A$B.run", "o.a.A$B.run"),
            ("Main.main", "Main.main"),
            ("com.sun.proxy.$Proxy12.call", "c.s.p.$Proxy.call"),
            (
                "com.acme.Foo$$Lambda$14/0x00000008000c0840.run",
                "com.acme.Foo$$Lambda$14/0x00000008000c0840.run",
            ),
            ("com.acme.Foo$$Lambda$14.12345.run", "c.a.Foo$$Lambda.run"),
            ("com/acme/Foo$$Lambda$14.run", "c.a.Foo$$Lambda.run"),
            ("main.(*Server).Serve", "main.(*Server).Serve"),
            ("net/http.(*conn).serve", "net/http.(*conn).serve"),
            ("libc.so.6+0x1f", "libc.so.6+0x1f"),
            ("", ""),
        ];
        for (name, short) in table {
            assert_eq!(shorten(name), short);
        }
        assert_eq!(package("java/util/HashMap.get"), Some("java/util"));
        assert_eq!(package("Main.main"), None);
    }
}
