//! Method words: `<ret> <class>.<method>(<args>) (<File>.java:<line>) [<jar>]` (§3).

/// A word of the dictionary read as a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method<'a> {
    /// Return type.
    pub returns: &'a str,
    /// Qualified class.
    pub class: &'a str,
    /// Method without class.
    pub method: &'a str,
    /// Argument types, between the parentheses.
    pub arguments: &'a str,
    /// Source file, empty when unknown.
    pub file: &'a str,
    /// Line, 0 when unknown.
    pub line: u32,
    /// Jar or folder of classes, empty when unknown.
    pub jar: &'a str,
    /// `class.method`, as one slice of the word.
    pub name: &'a str,
    /// Return type and arguments are around `name`: the word up to the source.
    pub signature: &'a str,
}

impl<'a> Method<'a> {
    /// Reads a word; `None` for names of parameters and anything else.
    #[must_use]
    pub fn parse(word: &'a str) -> Option<Self> {
        // The jar is in the last brackets, the source in the last parentheses before it: array types
        // and jars within jars hold brackets of their own.
        let (rest, jar) = match word
            .strip_suffix(']')
            .and_then(|rest| rest.rsplit_once(" ["))
        {
            Some((rest, jar)) => (rest, jar),
            None => (word, ""),
        };
        let (signature, source) = match rest.strip_suffix(')').and_then(|r| r.rsplit_once(" (")) {
            Some((signature, source)) if signature.ends_with(')') => (signature, source),
            _ => (rest, ""),
        };
        let (head, arguments) = signature.strip_suffix(')')?.split_once('(')?;
        let (returns, name) = head.rsplit_once(' ')?;
        let (class, method) = name.rsplit_once('.')?;
        if method.is_empty() || class.is_empty() {
            return None;
        }
        let (file, line) = match source.rsplit_once(':') {
            Some((file, line)) => (file, line.parse().unwrap_or(0)),
            None => (source, 0),
        };
        Some(Self {
            returns,
            class,
            method,
            arguments,
            file,
            line,
            jar,
            name,
            signature,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts() {
        let word = "java.lang.String[] com.acme.Shop.find(long,java.lang.Object[]) \
                    (Shop.java:58) [shop.jar!/BOOT-INF/classes]";
        let method = Method::parse(word).unwrap();
        assert_eq!(method.returns, "java.lang.String[]");
        assert_eq!((method.class, method.method), ("com.acme.Shop", "find"));
        assert_eq!(method.arguments, "long,java.lang.Object[]");
        assert_eq!((method.file, method.line), ("Shop.java", 58));
        assert_eq!(method.jar, "shop.jar!/BOOT-INF/classes");
        assert_eq!(method.name, "com.acme.Shop.find");
    }

    #[test]
    fn parts_may_be_missing() {
        let bare = Method::parse("void a.B.<init>()").unwrap();
        assert_eq!(
            (bare.method, bare.file, bare.line, bare.jar),
            ("<init>", "", 0, "")
        );
        let native = Method::parse("int a.B.c(int) (Unknown Source) [rt.jar]").unwrap();
        assert_eq!(
            (native.file, native.line, native.jar),
            ("Unknown Source", 0, "rt.jar")
        );
        for word in ["call.info", "", "sql (x) [y]", "profiler.title"] {
            assert_eq!(Method::parse(word), None, "{word}");
        }
    }
}
