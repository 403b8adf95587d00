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

#[test]
fn the_first_rule_that_matches_wins() {
    let text = "com.acme.Shop buy* INCLUDE\r\n\n# rest\ncom/acme/* * EXCLUDE\n*Test * exclude\n* -init- EXCLUDE";
    let filter = rules(text).unwrap();
    for (name, stays) in [
        ("com.acme.Shop.buyNow", true),
        ("void com.acme.Shop.buy(int) (Shop.java:7) [shop.jar]", true),
        ("com.acme.Shop.sell", false),
        ("com.acme.Shop.sell(Ljava/lang/String;)V", false),
        ("com.acme.Till.buy", false),
        ("org.example.Shop.buy", true),
        ("org.example.ShopTest.buy", false),
        ("org.example.Shop.<init>", false),
        ("main", true),
    ] {
        assert_eq!(filter.admits(name), stays, "{name}");
    }
    assert!(rules("").unwrap().is_empty());
    assert!(rules("").unwrap().admits("a.b"));
    let inner = rules("*shop* *y EXCLUDE\n* * INCLUDE").unwrap();
    assert!(!inner.admits("com.shop.Till.buy") && inner.admits("com.shop.Till.sell"));
}

#[test]
fn lines_that_are_no_rules() {
    let error = rules("* * INCLUDE\n* EXCLUDE\n").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.message.contains("class method INCLUDE"), "{error}");
    let error = rules("* * MAYBE").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: `MAYBE`: the modes are INCLUDE and EXCLUDE"
    );
    let error = rules("* ** INCLUDE\n*.acme.*.Shop* buy EXCLUDE").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2: `*.acme.*.Shop*`: the `*` after `.acme.` is inside a name; it stands at an end"
    );
    assert!(rules("* b*y EXCLUDE").is_err());
}

mod conditions {
    use std::borrow::Cow;

    use super::super::{CallView, Filter};

    /// A failed call of 250 ms.
    struct Slow;

    impl CallView for Slow {
        fn method(&self) -> Cow<'_, str> {
            "void com.acme.Shop.buy(int) (Shop.java:7) [shop.jar]".into()
        }
        fn title(&self) -> Option<Cow<'_, str>> {
            Some("GET /orders/7".into())
        }
        fn params(&self, each: &mut dyn FnMut(&str, &str) -> bool) -> bool {
            let params = [
                ("http.status", "503"),
                ("user", "ada"),
                ("size", "12.5"),
                ("tag", "a"),
                ("tag", "b"),
            ];
            params.iter().any(|(name, value)| each(name, value))
        }
        fn duration(&self) -> Option<u64> {
            Some(250_000_000)
        }
        fn time(&self) -> Option<i64> {
            Some(1_772_366_400_000_000_000)
        }
        fn failed(&self) -> bool {
            true
        }
        fn thread(&self) -> Option<Cow<'_, str>> {
            Some("http-nio-8080-exec-3".into())
        }
        fn service(&self) -> Option<Cow<'_, str>> {
            Some("shop".into())
        }
        fn counter(&self, name: &str) -> Option<i64> {
            match name {
                "cpu" => Some(40_000_000),
                "bytes" => Some(10_000_000),
                _ => None,
            }
        }
    }

    fn accepts(text: &str) -> bool {
        text.parse::<Filter>()
            .unwrap_or_else(|error| panic!("{error}"))
            .accepts(&Slow)
    }

    #[test]
    fn fields_are_compared() {
        for yes in [
            "duration > 100ms",
            "duration>100ms",
            "duration >= 0.25s",
            "duration = 250ms",
            "duration < 1min",
            "time >= 2026-03-01T12:00:00Z",
            "time < 2026-03-02",
            "time = '2026-03-01 12:00'",
            "time > 100s",
            "time != 1772366400000000001",
            "thread ~ 'exec-\\d+$'",
            "thread ~ EXEC",
            "service = Shop",
            "service != till",
            "host != anything",
            "class = com.acme.Shop",
            "method = com.acme.Shop.buy",
            "method !~ sell",
            "title ~ '^GET /orders/[0-9]+$'",
            "text ~ 'ad.'",
            "text !~ nobody",
            "error = true",
            "cpu > 30ms",
            "cpu <= 40000000",
            "cpu>30ms",
            "cpu >30ms",
            "cpu> 30ms",
            "cpu>=40ms",
            "cpu=40ms",
            "cpu!=41ms",
            "http.status>=500",
            "http.status=503",
            "http.status!=200",
            "user~^a",
            "user!~^b",
            "bytes >= 10MB",
            "bytes < 10MiB",
            "http.status >= 500",
            "$http.status >= 500",
            "$http.status = 503",
            "$user != bob",
            "$user ~ '^a'",
            "size > 12.4",
            "tag = b",
            "kind != web",
        ] {
            assert!(accepts(yes), "{yes}");
            assert!(!accepts(&format!("not ({yes})")), "not ({yes})");
        }
        for no in [
            "duration > 250ms",
            "time > 2026-03-01T13:00+01:00",
            "thread = http",
            "service = sho",
            "host = anything",
            "host ~ '.'",
            "kind = web",
            "method != com.acme.Shop.buy",
            "$user = bo",
            "user > 3",
            "tag != b",
            "missing = x",
            "missing > 3",
            "error = false",
            "text !~ ada",
        ] {
            assert!(!accepts(no), "{no}");
        }
    }

    #[test]
    fn conditions_combine() {
        for yes in [
            "duration > 100ms and service = shop and error",
            "duration > 1s or error",
            "not duration > 1s",
            "orders and not (till or nobody)",
            "(orders nobody) and error",
            "+orders -nobody duration > 100ms",
            "orders duration > 100s",
            "false or true or error and orders",
            "not not error",
            "(((error)))",
            "buy(int)",
            "(buy(int) or nobody)",
        ] {
            assert!(accepts(yes), "{yes}");
        }
        for no in [
            "duration > 100ms and service = shop and not error",
            "error and nobody or nobody",
            "not error",
            "+orders +duration>1s",
            "-duration>100ms",
        ] {
            assert!(!accepts(no), "{no}");
        }
    }

    #[test]
    fn words_stay_words() {
        // By itself `error` is a word to look for, and nothing here holds it.
        assert!(!accepts("error"));
        assert!(!accepts("a=b x<y"));
        assert!(!accepts("List<String> Map<1>"));
        assert!(!accepts("user=bob"));
        for word in ["a<b", "a->b", "x<y>", "/a?id=5", "List<3>"] {
            let filter: Filter = word.parse().unwrap();
            assert_eq!(filter.asked_names(), [], "{word}");
        }
        assert!(accepts("nothing /orders/7"));
        assert!(!accepts("'and'"));
    }

    #[test]
    fn errors_point_at_the_condition() {
        for (text, column, message) in [
            ("duration > 5", 12, "`5` has no unit; write 5ms"),
            ("duration>5", 10, "`5` has no unit"),
            ("time > 5", 8, "`5` has no unit"),
            ("time > 1772366400", 8, "too few digits for nanoseconds"),
            ("duration > fast", 12, "expected a duration"),
            ("duration >", 11, "expected a value"),
            ("orders and", 11, "a condition is missing at the end"),
            ("and orders", 1, "a condition is missing here"),
            ("orders and or x", 12, "a condition is missing here"),
            ("(a or b", 1, "never closed"),
            ("a or (b and )", 13, "a condition is missing here"),
            ("orders not error", 8, "before `not`"),
            ("thread > a", 10, "this is a text"),
            ("thread ~ '('", 10, "no regular expression"),
            ("duration ~ 5ms", 12, "this is a number"),
            ("error = maybe", 9, "= true or = false"),
            ("size > big", 8, "expected a number"),
            ("= 5", 1, "expected a field"),
        ] {
            let error = text.parse::<Filter>().unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.message.contains(message), "{text}: {error}");
        }
        let deep = format!("{}a", "not ".repeat(10_000));
        assert!(deep.parse::<Filter>().is_err());
        assert!("(".repeat(10_000).parse::<Filter>().is_err());
    }
}

mod hiding {
    use traceloom_model::{
        Frame, Function, FunctionId, LinkBatch, Merge, Profile, Recording, SampleBatch, SampleRow,
        Scope, Sink, SpanBatch, SpanId, SpanRow, Stack, StackId, Tables, Track, Unit, ValueType,
    };

    use super::super::{Hide, HideSurvey, rules};

    struct Made {
        tables: Tables,
        functions: Vec<FunctionId>,
        stacks: Vec<StackId>,
    }

    /// Four functions, and the stacks in which each of them was called by the one before.
    fn made() -> Made {
        let mut tables = Tables::new();
        let names = [
            "app.Main.main",
            "lib.Pool.run",
            "lib.Pool.call",
            "app.Shop.buy",
        ];
        let functions: Vec<FunctionId> = names
            .iter()
            .map(|name| {
                let name = tables.string(name);
                tables.function(Function::named(name))
            })
            .collect();
        let mut stacks: Vec<StackId> = Vec::new();
        for &function in &functions {
            let frame = tables.frame(Frame::of(function));
            stacks.push(tables.stack(Stack::under(stacks.last().copied(), frame)));
        }
        Made {
            tables,
            functions,
            stacks,
        }
    }

    fn through(filter: &str, push: &dyn Fn(&mut dyn Sink)) -> Recording {
        let filter = rules(filter).unwrap();
        let mut survey = HideSurvey::new(&filter);
        push(&mut survey);
        survey.settle();
        let mut kept = Recording::default();
        push(&mut Hide::new(&mut survey, &mut kept));
        kept
    }

    #[test]
    fn spans_hang_under_the_next_that_stays() {
        let push = |sink: &mut dyn Sink| {
            let mut made = made();
            let name = made.tables.string("main");
            let track = made.tables.track(Track::thread(name));
            let mut spans = SpanBatch::default();
            // Children first, as a reader pushes them; the roots' function is defined after its span.
            for (id, parent, function, start, end) in [
                (3, Some(2), 3, 30, 40),
                (2, Some(1), 2, 20, 60),
                (1, Some(0), 1, 10, 80),
                (0, None, 0, 0, 100),
                (5, Some(4), 3, 110, 120),
                (4, None, 1, 105, 130),
            ] {
                let function = made.functions[function];
                spans.push(&SpanRow {
                    parent: parent.map(SpanId),
                    entry: parent.is_none(),
                    ..SpanRow::call(SpanId(id), track, function, start, end)
                });
            }
            let _ = sink.spans(spans);
            let _ = sink.define(made.tables.take_definitions());
            let _ = sink.links(LinkBatch {
                links: vec![traceloom_model::Link {
                    from: SpanId(2),
                    to: SpanId(5),
                    kind: None,
                }],
            });
        };
        let kept = through("lib.* * EXCLUDE", &push);
        let rows: Vec<_> = kept
            .spans
            .iter()
            .map(|row| (row.id.0, row.parent.map(|id| id.0), row.entry))
            .collect();
        assert_eq!(
            rows,
            [(3, Some(0), false), (0, None, true), (5, None, true)]
        );
        assert_eq!(
            (kept.links[0].from, kept.links[0].to),
            (SpanId(0), SpanId(5))
        );
        let all = through("* nothing EXCLUDE", &push);
        assert_eq!(all.spans.len(), 6);
    }

    #[test]
    fn frames_fall_to_their_callers() {
        let push = |sink: &mut dyn Sink| {
            let mut made = made();
            let columns = [("own", Scope::Own), ("inclusive", Scope::Inclusive)];
            let value_types = columns.map(|(name, scope)| {
                let name = made.tables.string(name);
                made.tables.value_type(ValueType {
                    name,
                    unit: Unit::Nanoseconds,
                    merge: Merge::Sum,
                    scope,
                })
            });
            let profile = made.tables.profile(Profile {
                value_types: value_types.into(),
                ..Profile::default()
            });
            let _ = sink.define(made.tables.take_definitions());
            let mut batch = SampleBatch::new(profile, 2);
            for (at, &stack) in made.stacks.iter().enumerate() {
                let value = 1 << at;
                batch.push(&SampleRow::at(stack, &[value, value * 100]));
            }
            let _ = sink.samples(batch);
        };
        let kept = through("lib.* * EXCLUDE", &push);
        let told: Vec<_> = kept.samples[0]
            .iter()
            .map(|row| (row.stack.map(StackId::raw), row.values.to_vec()))
            .collect();
        assert_eq!(
            told,
            [
                (Some(0), vec![1, 100]),
                (Some(0), vec![2, 0]),
                (Some(0), vec![4, 0]),
                (Some(3), vec![8, 800]),
            ]
        );
        let defined: Vec<_> = kept.stacks.iter().flatten().collect();
        assert_eq!(defined.len(), 2);
        assert_eq!(defined[1].parent.map(StackId::raw), Some(0));
        // Nothing is left of a stack whose frames all go.
        let kept = through("app.Main * EXCLUDE\nlib.* * EXCLUDE", &push);
        assert_eq!(kept.samples[0].len(), 1);
        assert_eq!(kept.samples[0].row(0).unwrap().values, [8, 800]);
        assert!(kept.stacks.iter().flatten().all(|row| row.parent.is_none()));
    }

    /// What a method called is its caller's time; how often it was called, and the shortest call, is not.
    #[test]
    fn statistics_of_what_goes_are_not_the_callers() {
        let push = |parents_first: bool| {
            move |sink: &mut dyn Sink| {
                let mut made = made();
                let columns = [
                    ("base", Unit::Nanoseconds, Merge::Sum, Scope::Own),
                    ("all", Unit::Nanoseconds, Merge::Sum, Scope::Inclusive),
                    ("min", Unit::Nanoseconds, Merge::Min, Scope::Own),
                    ("max", Unit::Nanoseconds, Merge::Max, Scope::Own),
                    ("calls", Unit::Count, Merge::Sum, Scope::Own),
                ];
                let value_types = columns.map(|(name, unit, merge, scope)| {
                    let name = made.tables.string(name);
                    made.tables.value_type(ValueType {
                        name,
                        unit,
                        merge,
                        scope,
                    })
                });
                let profile = made.tables.profile(Profile {
                    value_types: value_types.into(),
                    ..Profile::default()
                });
                let _ = sink.define(made.tables.take_definitions());
                let mut rows: Vec<_> = made
                    .stacks
                    .iter()
                    .zip([
                        [100, 1111, 40, 60, 2],
                        [10, 1011, 5, 6, 7],
                        [1, 1001, 1, 9, 8],
                        [1000, 1000, 3, 300, 5],
                    ])
                    .collect();
                if !parents_first {
                    rows.reverse();
                }
                let mut batch = SampleBatch::new(profile, 5);
                for (stack, values) in rows {
                    batch.push(&SampleRow::at(*stack, &values));
                }
                let _ = sink.samples(batch);
            }
        };
        for order in [false, true] {
            let kept = through("lib.* * EXCLUDE", &push(order));
            let mut told: Vec<_> = kept.samples[0]
                .iter()
                .map(|row| (row.stack.map(StackId::raw), row.values.to_vec()))
                .collect();
            told.sort();
            assert_eq!(
                told,
                [
                    (Some(0), vec![111, 1111, 40, 60, 2]),
                    (Some(3), vec![1000, 1000, 3, 300, 5]),
                ]
            );
        }
    }
}
