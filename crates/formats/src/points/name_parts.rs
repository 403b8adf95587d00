//! Function names taken apart: package, class, method, library, by the habits of each language.

use std::borrow::Cow;

use super::Language;

/// The parts of a function's name; empty where the language or the name has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameParts<'n> {
    /// Package, module or namespace.
    pub package: Cow<'n, str>,
    /// Class.
    pub class: Cow<'n, str>,
    /// Method or function.
    pub method: Cow<'n, str>,
    /// Assembly, jar or shared object.
    pub library: Cow<'n, str>,
    /// Source file, where the name carries it.
    pub file: Cow<'n, str>,
    /// Line, where the name carries it, else 0.
    pub line: u32,
}

impl<'n> NameParts<'n> {
    /// Takes `name` apart (`datakit/SPEC.md` §8); without a language everything is the method.
    #[must_use]
    pub fn of(language: Option<Language>, name: &'n str) -> Self {
        match language {
            Some(Language::Golang) => go(name),
            Some(Language::Java) => java(name),
            Some(Language::Nodejs) => node(name),
            Some(Language::Dotnet) => dotnet(name),
            Some(Language::Php) => php(name),
            Some(Language::Ruby) => ruby(name),
            Some(Language::Cpp | Language::Rust) => paths(name),
            Some(Language::Python) | None => method(name),
        }
    }
}

fn method(name: &str) -> NameParts<'_> {
    NameParts {
        method: name.into(),
        ..NameParts::default()
    }
}

/// The package goes up to the last slash and from there to the next dot.
fn go(name: &str) -> NameParts<'_> {
    // A slash inside type arguments belongs to no import path.
    let plain = name.split('[').next().unwrap_or(name);
    let slash = plain.rfind('/').map_or(0, |at| at + 1);
    let dot = plain.get(slash..).and_then(|rest| rest.find('.'));
    match dot.and_then(|dot| name.split_at_checked(slash + dot)) {
        Some((package, function)) => NameParts {
            package: package.into(),
            method: function.get(1..).unwrap_or("").into(),
            ..NameParts::default()
        },
        None => method(name),
    }
}

/// `package.Class.method(arguments)`, with slashes or dots, perhaps after a return type.
fn java(name: &str) -> NameParts<'_> {
    let (head, arguments) = match name.find('(').and_then(|at| name.split_at_checked(at)) {
        Some(parts) => parts,
        None => (name, ""),
    };
    let (before, qualified) = head.rsplit_once(' ').unwrap_or(("", head));
    let Some((owner, own)) = qualified.rsplit_once('.') else {
        return method(name);
    };
    let owner = owner.replace('/', ".");
    let (package, class) = owner.rsplit_once('.').unwrap_or(("", &owner));
    let plain = before.is_empty() && arguments.is_empty();
    let method = if plain {
        Cow::Borrowed(own)
    } else {
        let space = if before.is_empty() { "" } else { " " };
        Cow::Owned(format!("{before}{space}{own}{arguments}"))
    };
    NameParts {
        package: package.to_owned().into(),
        class: class.to_owned().into(),
        method,
        ..NameParts::default()
    }
}

/// `file:function:line`, read from the right; the file may hold colons.
fn node(name: &str) -> NameParts<'_> {
    let Some((rest, line)) = name.rsplit_once(':') else {
        return method(name);
    };
    let Ok(line) = line.parse() else {
        return method(name);
    };
    let Some((file, function)) = rest.rsplit_once(':') else {
        return method(name);
    };
    NameParts {
        method: function.into(),
        file: file.into(),
        line,
        ..NameParts::default()
    }
}

/// `|lm:assembly |ns:namespace |ct:class |fn:method`.
fn dotnet(name: &str) -> NameParts<'_> {
    if !name.starts_with('|') {
        return method(name);
    }
    let mut parts = NameParts::default();
    for part in name.split('|') {
        let part = part.trim_end();
        match part.split_once(':') {
            Some(("lm", library)) => parts.library = library.into(),
            Some(("ns", package)) => parts.package = package.into(),
            Some(("ct", class)) => parts.class = class.into(),
            Some(("fn", function)) => parts.method = function.into(),
            _ => {}
        }
    }
    if parts.method.is_empty() {
        parts.method = name.into();
    }
    parts
}

/// `Namespace\Class::method`.
fn php(name: &str) -> NameParts<'_> {
    let (package, rest) = name.rsplit_once('\\').unwrap_or(("", name));
    let (class, own) = rest.rsplit_once("::").unwrap_or(("", rest));
    NameParts {
        package: package.into(),
        class: class.into(),
        method: own.into(),
        ..NameParts::default()
    }
}

/// `Class#method`, `Module::Class.method`.
fn ruby(name: &str) -> NameParts<'_> {
    let owner = name.rsplit_once('#').or_else(|| {
        let (owner, own) = name.rsplit_once('.')?;
        owner
            .starts_with(|first: char| first.is_ascii_uppercase())
            .then_some((owner, own))
    });
    match owner {
        Some((class, own)) => NameParts {
            class: class.into(),
            method: own.into(),
            ..NameParts::default()
        },
        None => method(name),
    }
}

/// `a::b::function`: the last separator outside angle brackets and parentheses.
fn paths(name: &str) -> NameParts<'_> {
    let (mut depth, mut split, mut previous) = (0_i32, None, ' ');
    for (at, character) in name.char_indices() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' if previous != '-' => depth -= 1,
            ':' if previous == ':' && depth == 0 => split = Some(at),
            _ => {}
        }
        previous = character;
    }
    let parts = split.and_then(|at| Some((name.get(..at - 1)?, name.get(at + 1..)?)));
    match parts {
        Some((package, own)) => NameParts {
            package: package.into(),
            method: own.into(),
            ..NameParts::default()
        },
        None => method(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(language: Language, name: &str) -> [String; 4] {
        let parts = NameParts::of(Some(language), name);
        [parts.library, parts.package, parts.class, parts.method].map(Cow::into_owned)
    }

    #[test]
    fn each_language_has_its_own_habits() {
        use Language::*;
        let vectors = [
            (
                Golang,
                "net/http.(*Client).Do",
                ["", "net/http", "", "(*Client).Do"],
            ),
            (Golang, "runtime.gopark", ["", "runtime", "", "gopark"]),
            (
                Golang,
                "example.com/x.Map[example.com/y.Key].Get",
                ["", "example.com/x", "", "Map[example.com/y.Key].Get"],
            ),
            (
                Java,
                "java.lang.Thread.run",
                ["", "java.lang", "Thread", "run"],
            ),
            (
                Java,
                "void com.acme.Shop.buy(int, String)",
                ["", "com.acme", "Shop", "void buy(int, String)"],
            ),
            (
                Dotnet,
                "|lm:Acme.Web |ns:Acme.Shop |ct:Cart |fn:Add",
                ["Acme.Web", "Acme.Shop", "Cart", "Add"],
            ),
            (
                Php,
                "Acme\\Shop\\Cart::add",
                ["", "Acme\\Shop", "Cart", "add"],
            ),
            (Ruby, "Object#d", ["", "", "Object", "d"]),
            (
                Rust,
                "std::vec::Vec<a::B>::push",
                ["", "std::vec::Vec<a::B>", "", "push"],
            ),
            (Python, "<module>", ["", "", "", "<module>"]),
        ];
        for (language, name, expected) in vectors {
            assert_eq!(parts(language, name), expected.map(str::to_owned), "{name}");
        }
        let node = NameParts::of(Some(Nodejs), "node:internal/timers.js:listOnTimeout:569");
        assert_eq!(
            (&*node.file, &*node.method, node.line),
            ("node:internal/timers.js", "listOnTimeout", 569)
        );
    }
}
