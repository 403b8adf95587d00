use super::*;

struct Call(
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

impl CallView for Call {
    fn method(&self) -> Cow<'_, str> {
        self.0.into()
    }

    fn title(&self) -> Option<Cow<'_, str>> {
        Some(self.1.into())
    }

    fn params(&self, each: &mut dyn FnMut(&str, &str) -> bool) -> bool {
        self.2.iter().any(|(name, value)| each(name, value))
    }
}

const GET: Call = Call(
    "com.acme.Http.service",
    "GET /orders, client: 10.1.2.3",
    &[("web.url", "http://shop/Orders?id=5"), ("user", "Łucja")],
);

fn accepts(filter: &str) -> bool {
    filter.parse::<Filter>().unwrap().accepts(&GET)
}

#[test]
fn words_are_alternatives_in_any_case() {
    assert!(accepts("ORDERS"));
    assert!(accepts("nothing http.SERVICE"));
    assert!(accepts("łUCJA"));
    assert!(!accepts("nothing nowhere"));
    assert!(accepts(""));
    assert!(accepts("  "));
}

#[test]
fn signs_require_and_exclude() {
    assert!(accepts("+orders +client"));
    assert!(!accepts("+orders +invoice"));
    assert!(!accepts("orders -client"));
    assert!(accepts("-invoice"));
    assert!(
        !accepts("nothing +orders"),
        "one of the bare words must match"
    );
    assert!(accepts("nothing service +orders"));
}

#[test]
fn quotes_hold_a_phrase() {
    assert!(accepts("'orders, client: 10'"));
    assert!(accepts("\"GET /orders\""));
    assert!(!accepts("'client orders'"));
    assert!(!accepts("-'GET /orders'"));
    assert!(accepts("don't orders"), "a quote inside a word is a letter");
}

#[test]
fn parameters_by_name() {
    assert!(accepts("$web.url=id=5"));
    assert!(accepts("$WEB.URL=shop"));
    assert!(!accepts("$user=shop"));
    assert!(
        accepts("$user="),
        "an empty value asks for the parameter alone"
    );
    assert!(!accepts("-$user="));
    assert!(accepts("+$web.url='/orders?'"));
}

#[test]
fn errors_point_at_the_column() {
    let column = |text: &str| text.parse::<Filter>().unwrap_err().column;
    assert_eq!(column("a 'b c"), 3);
    assert_eq!(column("łó $=5"), 5);
    assert_eq!(column("$url"), 5);
    assert_eq!(column("a + b"), 4);
    assert_eq!(column("a ''"), 3);
    let error = "x 'y".parse::<Filter>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "this quote is never closed (column 3)\n  x 'y\n    ^"
    );
}
