//! Names as methods of classes.

/// A method, as formats have it that know classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodWord<'n> {
    pub class: &'n str,
    pub method: &'n str,
    /// Arguments with their parentheses, or nothing.
    pub signature: &'n str,
    pub file: &'n str,
    pub line: u64,
}

impl<'n> MethodWord<'n> {
    /// Takes a name apart: `void shop.Orders.list(int) (orders.rs:12) [shop]`, as CDT spells methods, or any other, whose class
    /// is what stands before its last point. A name without one is a method of the class `program`.
    pub fn parse(name: &'n str, program: &'n str) -> Self {
        let word = Self::spelled(name).unwrap_or(Self {
            class: "",
            method: name,
            signature: "",
            file: "",
            line: 0,
        });
        match word.method.rsplit_once('.') {
            Some((class, method)) if !class.is_empty() && !method.is_empty() => Self {
                class,
                method,
                ..word
            },
            _ => Self {
                class: program,
                ..word
            },
        }
    }

    /// Takes a name apart that has arguments.
    fn spelled(name: &'n str) -> Option<Self> {
        let (head, rest) = name.split_at_checked(name.find('(')?)?;
        let (signature, rest) = rest.split_at_checked(rest.find(')')? + 1)?;
        let method = head.rsplit_once(' ').map_or(head, |(_, method)| method);
        if method.is_empty() {
            return None;
        }
        let source = rest
            .strip_prefix(" (")
            .and_then(|rest| rest.split_once(')'));
        let source = source.map_or("", |(source, _)| source);
        let (file, line) = source.rsplit_once(':').unwrap_or((source, "0"));
        Some(Self {
            class: "",
            method,
            signature,
            file,
            line: line.parse().unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_classes() {
        let parse = |name| {
            let word = MethodWord::parse(name, "shop");
            (
                word.class,
                word.method,
                word.signature,
                word.file,
                word.line,
            )
        };
        assert_eq!(
            parse("void shop.Orders.list(int) (orders.rs:12) [shop]"),
            ("shop.Orders", "list", "(int)", "orders.rs", 12)
        );
        assert_eq!(parse("a.B.c()"), ("a.B", "c", "()", "", 0));
        assert_eq!(parse("GET /orders"), ("shop", "GET /orders", "", "", 0));
        assert_eq!(parse("GET /a.html"), ("GET /a", "html", "", "", 0));
        assert_eq!(parse("done."), ("shop", "done.", "", "", 0));
        assert_eq!(parse("(x"), ("shop", "(x", "", "", 0));
        assert_eq!(parse(""), ("shop", "", "", "", 0));
    }
}
