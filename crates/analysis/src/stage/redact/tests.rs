use super::*;
use traceloom_model::{
    AttributeKey, Exception, Function, Profile, Recording, Resource, SampleBatch, SampleRow,
    SpanBatch, SpanRow, Tables, Track, Unit, ValueType,
};

fn all() -> Redaction {
    Redaction::new(&Category::ALL, (1, 2))
}

#[test]
fn forms_are_kept_and_values_go() {
    let how = all();
    let table = [
        ("peer 10.20.30.40:5432", "peer ", ":5432"),
        ("from 2001:db8::17 port 80", "from fd00::", " port 80"),
        (
            "at 12:34:56 std::fs::read v1.2.3",
            "at 12:34:56 std::fs::read v1.2.3",
            "",
        ),
        ("mac 00:1b:44:11:3a:b7", "mac 02:", ""),
        (
            "mail bob@acme.com now",
            "mail mail-",
            "@redacted.invalid now",
        ),
        (
            "https://bob:pw@shop.acme.com:8443/a/b.html?q=1#x",
            "https://user-",
            "",
        ),
        (
            "jdbc:postgresql://db01:5432/shop",
            "jdbc:postgresql://host-",
            "",
        ),
        (
            "jdbc:oracle:thin:@db01:1521:XE",
            "jdbc:oracle:thin:@host-",
            ":1521:XE",
        ),
        ("read /srv/bob/data.csv failed", "read /p-", ".csv failed"),
        (r"open C:\Users\bob\x.txt", r"open C:\p-", ".txt"),
        (
            "lookup db01.prod.acme.com failed",
            "lookup host-",
            " failed",
        ),
        (
            "select * from t where a = 'bob' and b = 17",
            "select * from t where a = 's-",
            "",
        ),
        (
            "call Foo.java:123 in org.acme.net.Pool",
            "call Foo.java:123 in org.acme.net.Pool",
            "",
        ),
    ];
    for (text, head, tail) in table {
        let out = how.text(text);
        assert!(
            out.starts_with(head) && out.ends_with(tail),
            "{text} became {out}"
        );
        for secret in [
            "10.20.30.40",
            "db8",
            "1b:44",
            "bob",
            "acme.com",
            "db01",
            "data",
            "Users",
            "17",
        ] {
            let harmless = text.contains("port 80") && secret == "17";
            assert!(!out.contains(secret) || harmless, "{text} became {out}");
        }
        assert_eq!(out, how.text(text));
    }
}

#[test]
fn equal_values_have_one_name_under_one_key() {
    let name = |key, text: &str| Redaction::new(&Category::ALL, key).text(text);
    assert_eq!(name((1, 2), "10.0.0.1"), name((1, 2), "10.0.0.1"));
    assert_ne!(name((1, 2), "10.0.0.1"), name((1, 2), "10.0.0.2"));
    assert_ne!(name((1, 2), "10.0.0.1"), name((1, 3), "10.0.0.1"));
    assert_eq!(Redaction::key_of("a phrase"), Redaction::key_of("a phrase"));
    assert_ne!(Redaction::key_of("a phrase"), Redaction::key_of("b phrase"));
}

#[test]
fn a_category_alone_leaves_the_others() {
    let text = "10.0.0.1 https://shop.acme.com/a select 5 from /etc/x";
    let only = |category| Redaction::new(&[category], (1, 2)).text(text);
    assert!(only(Category::Addresses).contains("https://shop.acme.com/a select 5 from /etc/x"));
    assert!(only(Category::Hosts).contains("10.0.0.1 https://host-"));
    assert!(only(Category::Hosts).contains("/a select 5 from /etc/x"));
    assert!(!only(Category::Sql).contains("select 5 "));
    assert_eq!(Redaction::new(&[], (1, 2)).text(text), text);
}

/// A recording with a secret in every place that holds text.
fn telling(sink: &mut dyn Sink) {
    let mut tables = Tables::new();
    let host = tables.string("vault77");
    let pod = tables.string("vault77-pod-9x");
    let service = tables.string("shop");
    let label = tables.string("host.ip");
    let label = tables.attribute_key(AttributeKey::named(label));
    let ip = tables.string("10.9.8.7");
    let resource = tables.resource(Resource {
        service: Some(service),
        host: Some(host),
        instance: Some(pod),
        attributes: vec![Attribute::new(label, Value::Text(ip))],
        ..Resource::default()
    });
    let thread = tables.string("pool-vault77-thread-3");
    let track = tables.track(Track {
        resource: Some(resource),
        ..Track::thread(thread)
    });
    let name = tables.string("com.acme.net.Pool.connect(vault77)");
    let function = tables.function(Function::named(name));
    let binds = tables.attribute_named("binds");
    let bind = tables.string("Eve");
    let sql = tables.attribute_named("statement");
    let statement = tables.string("delete from users where name = 'Eve' -- asked by eve@acme.com");
    let blob = tables.attribute_named("payload");
    let class = tables.string("java.net.ConnectException");
    let message = tables.string("cannot reach vault77:5432 (10.9.8.7) for /srv/Eve/key.pem");
    let exception = tables.exception(Exception {
        class: Some(class),
        message: Some(message),
        stack: None,
        cause: None,
    });
    let attributes = [
        Attribute::new(
            binds,
            Value::List(
                traceloom_model::ElementType::Text,
                [Value::Text(bind)].into(),
            ),
        ),
        Attribute::new(sql, Value::Text(statement)),
        Attribute::new(blob, Value::Bytes((*b"\xff\xfe10.9.8.7\x00").into())),
    ];
    let mut spans = SpanBatch::default();
    spans.push(&SpanRow {
        attributes: &attributes,
        exception: Some(exception),
        ..SpanRow::call(tables.reserve_span(), track, function, 5, 9)
    });
    let count = tables.string("count");
    let count = tables.value_type(ValueType::sum(count, Unit::Count));
    let comment = tables.string("recorded on vault77 by eve@acme.com from \\\\vault77\\share");
    let profile = tables.profile(Profile {
        value_types: vec![count],
        comments: vec![comment],
        ..Profile::default()
    });
    let mut samples = SampleBatch::new(profile, 1);
    let labels = [Attribute::new(label, Value::Text(ip))];
    samples.push(&SampleRow {
        stack: None,
        values: &[1],
        time: Some(7),
        track: Some(track),
        span: None,
        labels: &labels,
    });
    let _ = sink.define(tables.take_definitions());
    let _ = sink.spans(spans);
    let _ = sink.samples(samples);
}

#[test]
fn no_place_that_holds_text_keeps_a_secret() {
    let mut how = all();
    telling(&mut how.learn());
    let (mut before, mut after) = (Recording::default(), Recording::default());
    telling(&mut before);
    telling(&mut Redact::new(&mut after, &how));
    let mut shown = format!(
        "{:?} {:?} {:?}",
        after.strings, after.samples, after.resources
    );
    for attribute in after.spans.attributes.all() {
        if let Value::Bytes(bytes) = &attribute.value {
            shown.push_str(&bytes.escape_ascii().to_string());
        }
    }
    for secret in ["vault77", "10.9.8.7", "Eve", "eve@", "acme.com", "/srv/"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    assert_eq!(after.strings.len(), before.strings.len());
    assert_eq!(after.spans.start, before.spans.start);
    assert_eq!(
        after.spans.attributes.all().len(),
        before.spans.attributes.all().len()
    );
    // The same machine is the same name in a resource, a thread, a message.
    let host = after
        .text(after.resources[0].as_ref().unwrap().host.unwrap())
        .into_owned();
    let thread = after
        .text(after.tracks[0].as_ref().unwrap().name.unwrap())
        .into_owned();
    let message = after
        .text(after.exceptions[0].as_ref().unwrap().message.unwrap())
        .into_owned();
    assert!(host.starts_with("host-"), "{host}");
    assert_eq!(thread, format!("pool-{host}-thread-3"));
    assert!(message.contains(&format!("{host}:5432")), "{message}");
    // What the program is called stays readable.
    let name = after
        .function_name(after.spans.function[0].unwrap())
        .into_owned();
    assert_eq!(name, format!("com.acme.net.Pool.connect({host})"));
}
