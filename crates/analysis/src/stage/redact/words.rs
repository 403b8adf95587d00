//! What tells of the outside world inside a text: hosts, addresses, URLs, paths.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::pseudonym::Key;
use super::{Category, Redaction};

/// Last labels of host names. Labels that are also the ends of file names (`rs`, `py`, `sh`)
/// or of columns (`name`) are left out.
const ENDS: &[&str] = &[
    "com",
    "net",
    "org",
    "edu",
    "gov",
    "mil",
    "info",
    "biz",
    "io",
    "dev",
    "app",
    "cloud",
    "online",
    "site",
    "tech",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "corp",
    "svc",
    "cluster",
    "consul",
    "test",
    "example",
    "invalid",
    "arpa",
    "eu",
    "uk",
    "de",
    "fr",
    "nl",
    "be",
    "ch",
    "at",
    "it",
    "es",
    "pt",
    "dk",
    "se",
    "no",
    "fi",
    "cz",
    "sk",
    "hu",
    "ro",
    "bg",
    "gr",
    "ru",
    "ua",
    "cn",
    "jp",
    "kr",
    "au",
    "nz",
    "br",
];

/// Where a text stands, which decides what a dotted name in it means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextContext {
    /// A name of the program: `org.acme.net.Pool` is no host there.
    Code,
    /// Anything else.
    Data,
}

fn is_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')
}

fn ends_path(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '<' | '>' | '|' | ';' | ',' | ')' | ']' | '}' | '`'
        )
}

/// Splits `text` where `stop` first holds.
fn until(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

/// Replaces what `how` asks for; none when nothing was there.
pub(super) fn replace(how: &Redaction, text: &str, place: TextContext) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let starts =
            before.is_none_or(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
        let found = if starts {
            word(how, rest, before, place)
        } else {
            None
        };
        let length = match found {
            Some((length, name)) => {
                if out.is_empty() {
                    out.reserve(text.len());
                    out.push_str(text.get(..text.len() - rest.len()).unwrap_or(""));
                }
                out.push_str(&name);
                length
            }
            None => {
                // What is passed over stays; it is copied only once something before it was replaced.
                let length = step(rest, first);
                if !out.is_empty() {
                    out.push_str(rest.get(..length).unwrap_or(""));
                }
                length
            }
        };
        before = rest
            .get(..length)
            .and_then(|taken| taken.chars().next_back());
        rest = rest.get(length..).unwrap_or("");
    }
    (!out.is_empty()).then_some(out)
}

/// Letters and digits in a row begin no new word.
fn step(rest: &str, first: char) -> usize {
    if first.is_ascii_alphanumeric() {
        until(rest, |c| !c.is_ascii_alphanumeric()).0.len()
    } else {
        first.len_utf8()
    }
}

/// Recognises what begins at `rest`: its length and what stands for it.
fn word(
    how: &Redaction,
    rest: &str,
    before: Option<char>,
    place: TextContext,
) -> Option<(usize, String)> {
    let key = how.key;
    if let Some(found) = url(how, rest) {
        return Some(found);
    }
    if (how.has(Category::Paths) || how.has(Category::Urls))
        && let Some(found) = path(key, rest)
    {
        return Some(found);
    }
    if how.has(Category::Addresses)
        && let Some(found) = address(key, rest)
    {
        return Some(found);
    }
    if how.has(Category::Hosts) {
        return host(how, rest, before, place);
    }
    None
}

/// `scheme://user@host:port/path?query#fragment`: each part by its own category.
fn url(how: &Redaction, rest: &str) -> Option<(usize, String)> {
    let (scheme, after) = until(rest, |c| {
        !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    let after = after.strip_prefix("://").filter(|_| !scheme.is_empty())?;
    let (authority, tail) = until(after, |c| {
        matches!(c, '/' | '?' | '#' | '\\') || ends_path(c)
    });
    let mut out = format!("{scheme}://");
    let (user, place) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, place)| (Some(user), place));
    if let Some(user) = user {
        if how.has(Category::Urls) || how.has(Category::Addresses) {
            out.push_str(&how.key.word("user", user));
        } else {
            out.push_str(user);
        }
        out.push('@');
    }
    for (at, one) in place.split(',').enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&authority_of(how, one));
    }
    let (path, _) = until(tail, ends_path);
    if how.has(Category::Urls) {
        out.push_str(&url_path(how.key, path));
    } else {
        // What a URL asks for may itself name hosts and addresses.
        out.push_str(&replace(how, path, TextContext::Data).unwrap_or_else(|| path.to_owned()));
    }
    let length = rest.len() - tail.len() + path.len();
    Some((length, out))
}

fn authority_of(how: &Redaction, place: &str) -> String {
    if place.starts_with('[') {
        let (inside, tail) = until(place, |c| c == ']');
        let inside = inside.trim_start_matches('[');
        let shown = if how.has(Category::Addresses) {
            how.key.ipv6(inside)
        } else {
            inside.to_owned()
        };
        return format!("[{shown}{tail}");
    }
    let (name, port) = place
        .split_once(':')
        .map_or((place, None), |(name, port)| (name, Some(port)));
    let shown = if is_ipv4(name) {
        if how.has(Category::Addresses) {
            how.key.ipv4(name)
        } else {
            name.to_owned()
        }
    } else if how.has(Category::Hosts) && !name.is_empty() {
        how.key.host(name)
    } else {
        name.to_owned()
    };
    port.map_or(shown.clone(), |port| format!("{shown}:{port}"))
}

/// Path, query and fragment of a URL: segments and values become pseudonyms, the signs between them stay.
fn url_path(key: Key, text: &str) -> String {
    let (path, tail) = until(text, |c| matches!(c, '?' | '#'));
    let mut out = segments(key, path, '/');
    let (query, fragment) = until(tail, |c| c == '#');
    for (at, pair) in query.split(['?', '&']).enumerate() {
        if at == 1 {
            out.push('?');
        } else if at > 1 {
            out.push('&');
        }
        match pair.split_once('=') {
            Some((name, value)) => {
                out.push_str(name);
                out.push('=');
                out.push_str(&key.segment(value));
            }
            None if pair.is_empty() => {}
            None => out.push_str(&key.segment(pair)),
        }
    }
    if let Some(fragment) = fragment.strip_prefix('#') {
        out.push('#');
        out.push_str(&key.segment(fragment));
    }
    out
}

fn segments(key: Key, path: &str, between: char) -> String {
    let mut out = String::with_capacity(path.len());
    for (at, segment) in path.split(between).enumerate() {
        if at > 0 {
            out.push(between);
        }
        match segment {
            "" | "." | ".." | "~" => out.push_str(segment),
            // `C:` and a line number after a colon are no names.
            drive if drive.len() == 2 && drive.ends_with(':') => out.push_str(drive),
            name => out.push_str(&key.segment(name)),
        }
    }
    out
}

/// `/srv/x`, `~/x` or `C:\x`; a path of a URL without host looks like the first.
fn path(key: Key, rest: &str) -> Option<(usize, String)> {
    let mut head = rest.chars();
    let (first, second, third) = (head.next()?, head.next(), head.next());
    let names = |c: Option<char>| {
        c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '%' | '{' | '*'))
    };
    let drive = first.is_ascii_alphabetic() && second == Some(':') && third == Some('\\');
    let unix = first == '/' && names(second);
    let home = first == '~' && second == Some('/') && names(third);
    let share = first == '\\' && second == Some('\\') && names(third);
    if !(drive || unix || home || share) {
        return None;
    }
    let (whole, _) = until(rest, |c| ends_path(c) || (c == ':' && !drive));
    if drive || share {
        let (whole, _) = until(rest, ends_path);
        return Some((whole.len(), segments(key, whole, '\\')));
    }
    Some((whole.len(), url_path(key, whole)))
}

/// Whatever is a file's name by the field it stands in, relative ones too.
pub(super) fn file(key: Key, text: &str) -> String {
    let between = if text.contains('/') { '/' } else { '\\' };
    segments(key, text, between)
}

fn address(key: Key, rest: &str) -> Option<(usize, String)> {
    let (token, after) = until(rest, |c| !(is_host(c) || c == '+'));
    if let Some(domain) = after.strip_prefix('@').filter(|_| !token.is_empty()) {
        let (domain, _) = until(domain, |c| !is_host(c));
        let domain = domain.trim_end_matches('.');
        if domain.contains('.') {
            let length = token.len() + 1 + domain.len();
            let whole = rest.get(..length).unwrap_or(token);
            return Some((
                length,
                format!("{}@redacted.invalid", key.word("mail", whole)),
            ));
        }
    }
    let (number, _) = until(rest, |c| !(c.is_ascii_digit() || c == '.'));
    let number = number.trim_end_matches('.');
    let follows = rest
        .get(number.len()..)
        .and_then(|after| after.chars().next());
    if is_ipv4(number) && follows.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_') {
        return Some((number.len(), key.ipv4(number)));
    }
    let (hex, after) = until(rest, |c| !(c.is_ascii_hexdigit() || matches!(c, ':' | '.')));
    let hex = hex.trim_end_matches('.');
    let colons = hex.bytes().filter(|&b| b == b':').count();
    if colons < 2 || after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let groups: Vec<&str> = hex.split(':').collect();
    let pair = |group: &&str| group.len() == 2 && group.bytes().all(|b| b.is_ascii_hexdigit());
    if groups.len() == 6 && groups.iter().all(pair) {
        return Some((hex.len(), key.mac(hex)));
    }
    // `std::fs` and `a::b` are names; an address of two colons has a digit.
    let telling = colons > 2 || hex.bytes().any(|b| b.is_ascii_digit());
    let hex = if hex.ends_with(':') && !hex.ends_with("::") {
        hex.trim_end_matches(':')
    } else {
        hex
    };
    (telling && hex.parse::<Ipv6Addr>().is_ok()).then(|| (hex.len(), key.ipv6(hex)))
}

pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

fn host(
    how: &Redaction,
    rest: &str,
    before: Option<char>,
    place: TextContext,
) -> Option<(usize, String)> {
    let (token, after) = until(rest, |c| !is_host(c));
    let token = token.trim_end_matches(['.', '-', '_']);
    if token.is_empty() {
        return None;
    }
    if let Some(name) = how.known_host(token) {
        return Some((token.len(), name));
    }
    let port = after
        .strip_prefix(':')
        .is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
    // `jdbc:oracle:thin:@db01:1521:XE`
    if before == Some('@') && (port || after.starts_with('/')) && !is_ipv4(token) {
        return Some((token.len(), how.key.host(token)));
    }
    let (inside, end) = token.rsplit_once('.')?;
    let called = after.starts_with(['(', '<']) || inside.is_empty();
    let end = end.to_ascii_lowercase();
    (place == TextContext::Data && !called && ENDS.contains(&end.as_str()))
        .then(|| (token.len(), how.key.host(token)))
}

/// Returns the hosts a text names by its form alone, for [`Redaction::learn`].
pub(super) fn hosts_in(text: &str, learn: &mut dyn FnMut(&str)) {
    for (at, _) in text.match_indices("://") {
        let rest = text.get(at + 3..).unwrap_or("");
        let (authority, _) = until(rest, |c| {
            matches!(c, '/' | '?' | '#' | '\\') || ends_path(c)
        });
        let place = authority
            .rsplit_once('@')
            .map_or(authority, |(_, place)| place);
        for one in place.split(',') {
            let (name, _) = until(one, |c| c == ':');
            if !is_ipv4(name) && name.chars().all(is_host) {
                learn(name);
            }
        }
    }
}
