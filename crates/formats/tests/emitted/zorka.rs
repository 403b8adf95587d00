//! Call trees of Zorka's agents.

use std::time::Duration;

use traceloom_emit::zorka::{Exception, Registry, Session, StackElement, Trace, Value};
use traceloom_formats::zorka::{
    Begin, CborValue, Item, Method, Reader, Record, TwoItems, ValueRun, Visit,
};
use traceloom_formats::{Chunk, Step};
use traceloom_model::{Flow, Limits, Note};

/// Items in short, one a line.
#[derive(Default)]
struct Items(Vec<String>);

fn shown(value: CborValue<'_>) -> String {
    match value {
        CborValue::Int(number) => number.to_string(),
        CborValue::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        CborValue::Bool(value) => value.to_string(),
        CborValue::Null => "null".to_owned(),
        CborValue::Raw(raw) => {
            let elements = ValueRun::array(raw).map(shown);
            format!("[{}]", elements.collect::<Vec<_>>().join(" "))
        }
        other => panic!("agents write no {other:?}"),
    }
}

impl Visit for Items {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        assert!(record.canonical, "{:?}", record.item);
        self.0.push(match record.item {
            Item::Start(start) => format!("start {} {}", start.method, start.time),
            Item::End(end) => format!("end {} {} {:?}", end.time, end.calls, end.flags),
            Item::Begin(Begin {
                clock_ms,
                ttype,
                span_id,
                parent_id,
                ..
            }) => format!("begin {clock_ms} {ttype:?} {span_id:?} {parent_id:?}"),
            Item::Attributes(attributes) => {
                let pairs = attributes.pairs();
                let pairs = pairs.map(|(key, value)| format!("{}={}", shown(key), shown(value)));
                let pairs = pairs.collect::<Vec<_>>().join(" ");
                format!("attribute {:?} {pairs}", attributes.upward)
            }
            Item::Exception(exception) => {
                let values = exception.values.iter().map(shown);
                format!("exception {}", values.collect::<Vec<_>>().join(" "))
            }
            Item::ExceptionRef { id, .. } => format!("rethrown {id}"),
            Item::Symbol(symbol) => {
                format!("symbol {} {}", symbol.id, shown(symbol.text))
            }
            Item::Method(Method {
                id,
                class,
                name,
                signature,
            }) => format!("method {id} {class} {name} {signature}"),
            other => panic!("agents write no {other:?}"),
        });
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        panic!("{note:?}");
    }
}

fn read(bytes: &[u8]) -> Vec<String> {
    let mut items = Items::default();
    let chunk = Chunk {
        bytes,
        offset: 0,
        eof: true,
    };
    let mut reader = Reader::new(&Limits::default(), TwoItems::default());
    assert_ne!(reader.read(chunk, &mut items), Step::Stop);
    items.0
}

#[test]
fn definitions_go_before_the_trace_that_needs_them_and_once() {
    let registry = Registry::default();
    let mut session = Session::new(0xaa);
    let mut trace = Trace::new(1 << 16, Duration::ZERO);
    let work = registry.method("demo.App", "work", "()V");
    assert_eq!(registry.method("demo.App", "work", "()V"), work);
    trace.enter_at(work, 5);
    trace.exit_at(6);

    let defined = [
        r#"symbol 1 "demo.App""#,
        r#"symbol 2 "work""#,
        r#"symbol 3 "()V""#,
        "method 1 1 2 3",
    ];
    let calls = ["start 1 5", "end 6 1 None"];
    let posts = session.posts(&registry, &trace, 0xbb);
    let [first, second] = &posts[..] else {
        panic!("{posts:?}");
    };
    assert_eq!(
        (first.path, read(&first.body)),
        ("/agent/submit/agd", defined.map(str::to_owned).to_vec())
    );
    assert_eq!(
        (second.path, read(&second.body)),
        ("/agent/submit/trc", calls.map(str::to_owned).to_vec())
    );
    let headers = |resets: &str| {
        let kind = ("Content-Type", "application/zorka+cbor+v1".to_owned());
        let name = ("X-Zorka-Session-ID", "00000000000000aa".to_owned());
        vec![kind, name, ("X-Zorka-Session-Reset", resets.to_owned())]
    };
    assert_eq!(first.headers, headers("true"));
    let id = ("X-Zorka-Trace-ID", format!("{:032x}", 0xbb));
    assert_eq!(second.headers, [headers("false"), vec![id]].concat());

    let other = registry.method("demo.App", "other", "()V");
    trace.clear();
    trace.enter_at(other, 7);
    trace.exit_at(8);
    let posts = session.posts(&registry, &trace, 1);
    assert_eq!(
        read(&posts[0].body),
        [r#"symbol 4 "other""#, "method 2 1 4 3"]
    );
    assert_eq!(posts[0].headers, headers("false"));
    assert_eq!(session.posts(&registry, &trace, 2).len(), 1);

    session.refused();
    let posts = session.posts(&registry, &trace, 3);
    assert_eq!(read(&posts[0].body).len(), 6);
    assert_eq!(posts[0].headers, headers("true"));
}

#[test]
fn everything_that_a_call_carries_is_read_back() {
    let registry = Registry::default();
    let [http, url, ok, n] = ["HTTP", "url", "ok", "n"].map(|text| registry.symbol(text));
    let [class, file] = ["java.io.IOException", "App.java"].map(|text| registry.symbol(text));
    let work = registry.method("demo.App", "work", "()V");
    let mut trace = Trace::new(1 << 16, Duration::ZERO);
    trace.enter_at(work, 1_488_423_513_404);
    trace.begin(
        1_795_224_782_073,
        http,
        Some((-7_162_087_146_062_644_687, Some(5))),
    );
    trace.attribute(url, Value::Text("/żółw"));
    trace.attribute(n, Value::Integer(i64::MIN));
    trace.attribute(n, Value::Integer(65_536));
    trace.attribute(ok, Value::Bool(false));
    trace.attribute(ok, Value::Null);
    trace.enter_at(work, 1_488_423_513_500);
    trace.attribute_above(http, n, Value::Integer(-1));
    let place = StackElement {
        class,
        file,
        line: 300,
        ..StackElement::default()
    };
    let mut exception = Exception {
        class,
        message: Some("gone"),
        cause: None,
        stack: &[place, place],
    };
    exception.cause = trace.throw(&exception);
    (exception.message, exception.stack) = (None, &[]);
    let thrown = trace.throw(&exception).expect("there is room");
    trace.exit_at(1_488_423_513_600);
    trace.rethrow(thrown);
    trace.exit_at(1_488_423_513_700);
    assert_eq!(
        read(trace.bytes()),
        [
            "start 1 1488423513404",
            "begin 1795224782073 Some(1) Some(-7162087146062644687) Some(5)",
            "attribute None 2=\"/żółw\"",
            "attribute None 4=-9223372036854775808",
            "attribute None 4=65536",
            "attribute None 3=false",
            "attribute None 3=null",
            "start 1 1488423513500",
            "attribute Some(1) 4=-1",
            "exception 1 5 \"gone\" 0 [[5 0 6 300] [5 0 6 300]]",
            "exception 2 5 null 1 []",
            "end 1488423513600 1 Some(4096)",
            "rethrown 2",
            "end 1488423513700 2 Some(4096)",
        ]
    );
    assert_eq!(trace.dropped(), 0);
}

#[test]
fn short_calls_are_left_out_and_counted_in_those_around_them() {
    let registry = Registry::default();
    let n = registry.symbol("n");
    let work = registry.method("demo.App", "work", "()V");
    let mut trace = Trace::new(1 << 16, Duration::from_nanos(100));
    trace.enter_at(work, 0);
    for begin in [10, 20] {
        trace.enter_at(work, begin);
        trace.enter_at(work, begin);
        if begin == 20 {
            trace.attribute(n, Value::Integer(1));
        }
        trace.exit_at(begin + 1);
        trace.exit_at(begin + 2);
    }
    trace.exit_at(50);
    assert_eq!(
        read(trace.bytes()),
        [
            "start 1 0",
            "start 1 20",
            "start 1 20",
            "attribute None 1=1",
            "end 21 1 None",
            "end 22 2 None",
            "end 50 5 None",
        ]
    );
}

#[test]
fn a_trace_is_no_larger_than_asked_and_counts_what_is_missing() {
    let registry = Registry::default();
    let n = registry.symbol("n");
    let work = registry.method("demo.App", "work", "()V");
    const LIMIT: usize = 1_000;
    let mut trace = Trace::new(LIMIT, Duration::ZERO);
    trace.enter_at(work, 1);
    for time in 0..100 {
        trace.enter_at(work, u64::MAX >> 1);
        trace.attribute(n, Value::Integer(time));
        if time >= 50 {
            trace.exit_at(u64::MAX >> 1);
        }
    }
    for _ in 0..51 {
        trace.exit_at(u64::MAX >> 1);
    }
    assert!(trace.bytes().len() <= LIMIT, "{}", trace.bytes().len());
    let items = read(trace.bytes());
    let count = |what: &str| items.iter().filter(|item| item.starts_with(what)).count() as u64;
    assert_eq!(count("start"), count("end"));
    assert_eq!(
        count("start") - 1 + count("attribute") + trace.dropped(),
        200
    );
    assert!(
        items.last().is_some_and(|last| last.ends_with(" 101 None")),
        "{items:?}"
    );
}
