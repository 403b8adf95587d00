//! One name for what is one function in two recordings.

use std::borrow::Cow;

/// Returns the name under which a function is found again in a recording of another run, build or tool.
///
/// Return types, arguments and places go, and generics, hashes of a build, and the numbers of lambdas, proxies
/// and generated classes; `/` between Java's packages becomes `.`.
#[must_use]
pub fn alike(name: &str) -> Cow<'_, str> {
    let plain = without_arguments(name);
    let plain = without_return_type(plain);
    let changes = |c: char| matches!(c, '<' | '[' | '$' | '/' | '.' | '#' | ':');
    if !plain.contains(changes) {
        return plain.into();
    }
    let text = without_generics(plain);
    let text = without_suffixes(&text);
    let text = without_numbers(text);
    match is_java_path(&text) {
        true => text.replace('/', ".").into(),
        false => text.into(),
    }
}

/// Cuts `(int) (Shop.java:7) [shop.jar]`; parentheses of Go's receivers and of C++'s anonymous namespaces stay.
fn without_arguments(name: &str) -> &str {
    for (at, _) in name.match_indices('(') {
        let before = name.get(..at).unwrap_or("");
        let Some(last) = before.chars().next_back() else {
            continue;
        };
        if matches!(last, '.' | ':' | '<') || before.ends_with("operator") {
            continue;
        }
        return before.trim_end();
    }
    name
}

/// Cuts `void ` and `static unsigned int `, not what stands between brackets.
fn without_return_type(name: &str) -> &str {
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, c) in name.char_indices() {
        match c {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            ' ' if depth == 0
                && !name
                    .get(..at)
                    .is_some_and(|before| before.ends_with("operator")) =>
            {
                start = at + 1;
            }
            _ => {}
        }
    }
    let rest = name.get(start..).unwrap_or(name);
    // A line of words is no signature.
    let words = name.get(..start).unwrap_or("");
    let typed = words
        .chars()
        .all(|c| c.is_alphanumeric() || " _.$<>[],:&*?".contains(c));
    let qualified = rest.contains(['.', ':']);
    if typed && qualified { rest } else { name }
}

/// Cuts `<…>` and `[…]` behind a name; `<init>` and `<T as Trait>` begin one.
fn without_generics(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut inside = 0_usize;
    let mut last = None;
    for c in name.chars() {
        match c {
            '<' | '[' if inside > 0 => inside += 1,
            '>' | ']' if inside > 0 => inside -= 1,
            '<' | '['
                if last.is_some_and(|c: char| c.is_alphanumeric() || matches!(c, '$' | ':')) =>
            {
                // Rust writes `foo::<T>`.
                if out.ends_with("::") {
                    out.truncate(out.len() - 2);
                }
                inside = 1;
            }
            c if inside == 0 => {
                out.push(c);
                last = Some(c);
            }
            _ => {}
        }
    }
    // A bracket that is never closed is part of the name.
    if inside > 0 { name.to_owned() } else { out }
}

/// Cuts what compilers append: `::h0123456789abcdef`, `.llvm.123`, `.constprop.0`, `.isra.0`, `.part.1`, `.cold`.
fn without_suffixes(name: &str) -> &str {
    let mut name = name;
    loop {
        let before = name;
        if let Some((rest, hash)) = name.rsplit_once("::h")
            && hash.len() == 16
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
        {
            name = rest;
        }
        if let Some((rest, number)) = name.rsplit_once('.')
            && number.bytes().all(|b| b.is_ascii_digit())
            && let Some(rest) = [".llvm", ".constprop", ".isra", ".part", ".lto_priv"]
                .iter()
                .find_map(|suffix| rest.strip_suffix(suffix))
        {
            name = rest;
        }
        name = name.strip_suffix(".cold").unwrap_or(name);
        if name.len() == before.len() {
            return name;
        }
    }
}

/// Cuts the numbers and addresses that a run gives to what it generates.
fn without_numbers(name: &str) -> String {
    // What generated names begin with; digits, hexadecimal or not, follow.
    const GENERATED: [(&str, bool); 12] = [
        ("$$Lambda$", false),
        ("$$Lambda/", true),
        ("$$Lambda", false),
        ("lambda$", false),
        ("$Proxy", false),
        ("GeneratedMethodAccessor", false),
        ("GeneratedConstructorAccessor", false),
        ("GeneratedSerializationConstructorAccessor", false),
        ("CGLIB$$", true),
        ("ByteBuddy$", true),
        ("LambdaForm$", false),
        (".func", false),
    ];
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    'names: while !rest.is_empty() {
        let (plain, from) = rest.split_at(rest.find(may_begin_generated).unwrap_or(rest.len()));
        out.push_str(plain);
        rest = from;
        let first = rest.as_bytes().first();
        for (start, hexadecimal) in GENERATED {
            if start.as_bytes().first() != first {
                continue;
            }
            let Some(after) = rest.strip_prefix(start) else {
                continue;
            };
            out.push_str(start.trim_end_matches('/'));
            rest = after;
            if start == "lambda$" {
                // `lambda$price$12`: the method around it says more than the number.
                let end = rest.find(['.', '/']).unwrap_or(rest.len());
                let (method, after) = rest.split_at(end);
                let (method, number) = method.rsplit_once('$').unwrap_or((method, "x"));
                out.push_str(method);
                if !number.bytes().all(|b| b.is_ascii_digit()) {
                    out.push('$');
                    out.push_str(number);
                }
                rest = after;
                continue 'names;
            }
            rest = after_number(rest, hexadecimal);
            // A hidden class has its address behind a slash.
            if let Some(address) = rest.strip_prefix('/') {
                let after = after_number(address, true);
                if after.len() < address.len() {
                    rest = after;
                }
            }
            continue 'names;
        }
        let mut chars = rest.chars();
        out.extend(chars.next());
        rest = chars.as_str();
    }
    out
}

/// Returns true for what a generated name may begin with: most letters of a name are none.
fn may_begin_generated(c: char) -> bool {
    matches!(c, '$' | '.' | 'l' | 'G' | 'C' | 'B' | 'L')
}

fn after_number(text: &str, hexadecimal: bool) -> &str {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let hexadecimal = hexadecimal || digits.len() < text.len();
    digits
        .trim_start_matches(|c: char| c.is_ascii_digit() || (hexadecimal && c.is_ascii_hexdigit()))
}

/// Tells `com/acme/Shop.buy` from `github.com/acme/shop.Buy` and from paths of files. Short paths of Go look like
/// Java's, which does no harm: they become the same in both recordings.
fn is_java_path(name: &str) -> bool {
    let Some((packages, _)) = name.rsplit_once('/') else {
        return false;
    };
    !name.starts_with('/')
        && !name.contains(':')
        && packages.split('/').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_function_become_one() {
        for (one, other) in [
            (
                "void com.acme.Shop.buy(int) (Shop.java:7) [shop.jar]",
                "com.acme.Shop.buy",
            ),
            ("com/acme/Shop.buy", "com.acme.Shop.buy"),
            (
                "com.acme.Shop.buy(Ljava/lang/String;)V",
                "com/acme/Shop.buy",
            ),
            (
                "com.acme.Shop$$Lambda$12/0x00000008000c1040.run",
                "com.acme.Shop$$Lambda$9.run",
            ),
            (
                "com.acme.Shop$$Lambda/0x0000000800c03000.run",
                "com.acme.Shop$$Lambda/0x00aa0b.run",
            ),
            (
                "com.acme.Shop.lambda$price$3",
                "com.acme.Shop.lambda$price$11",
            ),
            ("com.sun.proxy.$Proxy12.get", "com.sun.proxy.$Proxy7.get"),
            (
                "jdk.internal.reflect.GeneratedMethodAccessor3.invoke",
                "jdk.internal.reflect.GeneratedMethodAccessor88.invoke",
            ),
            (
                "a.B$$EnhancerBySpringCGLIB$$1a2b3c4d.c",
                "a.B$$EnhancerBySpringCGLIB$$99ff.c",
            ),
            ("alloc::vec::Vec<T>::push", "alloc::vec::Vec<u8>::push"),
            (
                "core::ptr::drop_in_place::<alloc::string::String>",
                "core::ptr::drop_in_place",
            ),
            (
                "shop::price::h0123456789abcdef",
                "shop::price::hfedcba9876543210",
            ),
            ("main.sum[go.shape.int]", "main.sum[go.shape.float64]"),
            ("main.serve.func1.2", "main.serve.func3.2"),
            ("parse.constprop.0", "parse.isra.1.cold"),
            (
                "unsigned int foo::bar(std::vector<int, std::allocator<int> >)",
                "foo::bar(char)",
            ),
        ] {
            assert_eq!(alike(one), alike(other), "{one}");
        }
    }

    #[test]
    fn names_of_two_functions_stay_two() {
        for (one, other) in [
            ("com.acme.Shop.<init>", "com.acme.Shop.<clinit>"),
            ("net/http.(*conn).serve", "net/http.(*conn).close"),
            ("net/http.(*conn).serve", "net/http.(*Server).serve"),
            ("<a::B as c::D>::e", "<a::F as c::D>::e"),
            ("(anonymous namespace)::f", "(anonymous namespace)::g"),
            ("foo::operator()(int)", "foo::operator+(int)"),
            ("libc.so.6+0x12", "libc.so.6+0x13"),
            ("com.acme.Shop.lambda$price$3", "com.acme.Shop.lambda$buy$3"),
            ("main.func1", "main.main"),
            ("GET /orders", "POST /orders"),
            ("a < b", "a"),
        ] {
            assert_ne!(alike(one), alike(other), "{one}");
        }
        assert_eq!(alike("do_syscall_64_[k]"), "do_syscall_64_[k]");
        assert_eq!(alike(""), "");
    }
}
