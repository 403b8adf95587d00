use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Query, QueryError> {
    Query::of(pairs.iter().copied())
}

#[test]
fn what_is_read_is_what_is_written() {
    let pairs = [
        ("q", "duration > 1s and not error"),
        ("svc", "shop"),
        ("svc", "stock & co"),
        ("capture", "1-7"),
        ("from", "2026-03-14T04:51:47.604Z"),
        ("to", "2026-03-14T04:55:00Z"),
        ("sort", "-duration"),
        ("cols", "start,title"),
        ("n", "50"),
        ("after", "1:n2008000000"),
        ("budget", "5368709120"),
        ("value", "cpu"),
        ("by", "package"),
        ("focus", "^com.acme"),
        ("ignore", "Idle"),
        ("hide", "Proxy"),
        ("up", "1"),
        ("base", "1-3"),
        ("base_from", "2026-03-14T04:50:00Z"),
        ("base_to", "2026-03-14T04:51:00Z"),
    ];
    let query = read(&pairs).unwrap();
    assert_eq!(query.services, ["shop", "stock & co"]);
    assert_eq!(query.from, Some(1_773_463_907_604_000_000));
    assert_eq!(query.columns, ["start", "title"]);
    assert_eq!(query.shape.base_to, Some(1_773_463_860_000_000_000));
    let written = query.pairs();
    let again: Vec<(&str, &str)> = written
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    assert_eq!(read(&again).unwrap(), query);
    assert!(Query::default().pairs().is_empty());
    assert_eq!(read(&[("view", "tree")]).unwrap(), Query::default());
}

#[test]
fn wrong_texts_say_which_and_why() {
    for (pairs, name) in [
        (vec![("q", "duration > ")], "q"),
        (vec![("from", "yesterday")], "from"),
        (vec![("to", "17")], "to"),
        (vec![("sort", "-")], "sort"),
        (vec![("n", "0")], "n"),
        (vec![("n", "10001")], "n"),
        (vec![("after", "behind")], "after"),
        (vec![("budget", "0")], "budget"),
        (vec![("budget", "5 GiB")], "budget"),
        (vec![("by", "colour")], "by"),
        (vec![("from", "2026-03-02"), ("to", "2026-03-01")], "to"),
        (
            vec![("base_from", "2026-03-02"), ("base_to", "2026-03-01")],
            "base_to",
        ),
        (vec![("base_to", "17")], "base_to"),
    ] {
        let error = read(&pairs).unwrap_err();
        assert_eq!(error.name, name, "{pairs:?}");
        assert!(!error.message.is_empty());
    }
    assert!(read(&[("q", "duration > ")]).unwrap_err().column.is_some());
}
