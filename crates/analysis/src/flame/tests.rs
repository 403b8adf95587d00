use super::*;
use crate::calltree::{Added, grow};
use crate::page::numbers::numbers;
use crate::{CallTree, Measure, Node, Symbol, TopRow, TreeBuilder, TreeOptions, top};
use traceloom_model::{Function, Sink, StepBatch, Tables, Track};

/// A service with recursion: names, and how long each level runs by itself.
fn tree() -> CallTree {
    let mut tables = Tables::new();
    let mut function = |name: &str| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    };
    let service = function("com.acme.shop.Http.service");
    let walk = function("com.acme.shop.Tree.walk");
    let query = function("org.postgresql.Driver.query(java.lang.String<T> & \"x\")");
    let name = tables.string("main");
    let track = tables.track(Track::thread(name));
    let mut steps = StepBatch::default();
    steps.track(track);
    let mut time = 0;
    for round in 0..50 {
        steps.enter(time, service);
        for level in 0..=round % 4 {
            time += 1_000 + level;
            steps.enter(time, walk);
        }
        time += 77;
        steps.enter(time, query);
        time += 5_000;
        steps.exit(time);
        for _ in 0..=round % 4 {
            time += 300;
            steps.exit(time);
        }
        time += 11;
        steps.exit(time);
    }
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let _ = builder.define(tables.take_definitions());
    let _ = builder.steps(steps);
    builder.finish().spans.unwrap()
}

/// Self and outermost totals by function, from nodes alone.
fn totals(tree: &CallTree, nodes: &[(usize, u32, i64, i64)]) -> Vec<(String, i64, i64)> {
    let mut rows: Vec<(String, i64, i64)> = tree
        .symbols
        .iter()
        .map(|symbol| (symbol.name.clone(), 0, 0))
        .collect();
    let mut path: Vec<usize> = Vec::new();
    for &(symbol, depth, total, own) in nodes {
        path.truncate(depth as usize);
        rows[symbol].1 += own;
        if !path.contains(&symbol) {
            rows[symbol].2 += total;
        }
        path.push(symbol);
    }
    rows.sort();
    rows
}

fn of_top(tree: &CallTree) -> Vec<(String, i64, i64)> {
    let mut rows: Vec<_> = top(tree)
        .iter()
        .map(|row| (tree.symbol(row.symbol).name.clone(), row.own, row.total))
        .collect();
    rows.sort();
    rows
}

/// A column of the page's data.
fn column(page: &str, name: &str) -> Vec<i64> {
    let start = page.find(&format!("\"{name}\":\"")).unwrap();
    let text = &page[start + name.len() + 4..];
    numbers(&text[..text.find('"').unwrap()])
}

#[test]
fn places_add_up_to_the_table() {
    let tree = tree();
    let layout = Layout::of(&tree, 0.0);
    let nodes: Vec<_> = layout
        .places
        .iter()
        .map(|place| &tree.nodes[place.node as usize])
        .map(|node: &Node| (node.symbol.index(), node.depth, node.total, node.own))
        .collect();
    assert_eq!(totals(&tree, &nodes), of_top(&tree));
    assert_eq!(layout.depth, 6);
    for place in &layout.places {
        let node = &tree.nodes[place.node as usize];
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let exact = node.total as f64 / tree.total as f64;
        assert!((place.width - exact).abs() < 1e-9);
        if let Some(parent) = node.parent {
            let above = layout.places.iter().find(|p| p.node == parent).unwrap();
            assert!(place.x >= above.x - 1e-9);
            assert!(place.x + place.width <= above.x + above.width + 1e-9);
        }
    }
}

#[test]
fn the_page_adds_up_to_the_table() {
    let tree = tree();
    let page = html(
        std::slice::from_ref(&tree),
        &Picture {
            title: "</script>",
            ..Picture::default()
        },
    );
    assert!(!page.contains("\"more\":"), "totals follow from own values");
    let [symbol, left, own] = ["symbol", "left", "own"].map(|name| column(&page, name));
    let mut nodes = Vec::new();
    let mut depth = 0;
    for at in 0..symbol.len() {
        depth -= left[at];
        let symbol = usize::try_from(symbol[at]).unwrap();
        nodes.push((symbol, u32::try_from(depth).unwrap(), own[at], own[at]));
        depth += 1;
    }
    for at in (0..nodes.len()).rev() {
        let mut below = nodes[at + 1..]
            .iter()
            .take_while(|node| node.1 > nodes[at].1);
        let sum = below.by_ref().filter(|node| node.1 == nodes[at].1 + 1);
        nodes[at].2 += sum.map(|node| node.2).sum::<i64>();
    }
    assert_eq!(totals(&tree, &nodes), of_top(&tree));
    assert!(page.contains(&format!("\"total\":{}", tree.total)));
    // Neither a title nor a name can end the element it stands in.
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("String\\u003cT> & \\\"x\\\")"));
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "no network"
    );
    assert!(!page.contains("{{"));
}

#[test]
fn the_picture_is_well_formed() {
    let tree = tree();
    for upwards in [false, true] {
        let picture = Picture {
            title: "a <b> & c\u{1}",
            upwards,
            short_names: true,
            ..Picture::default()
        };
        let svg = svg(&tree, &picture);
        assert_eq!(svg.matches("<g data-n").count(), tree.nodes.len() + 1);
        let groups = |begin: &str| svg.matches(begin).count();
        assert_eq!(groups("</g>"), groups("<g "));
        assert!(svg.contains("a &lt;b&gt; &amp; c\u{fffd}</text>"));
        assert!(svg.contains("String&lt;T&gt; &amp; &quot;x&quot;): "));
        assert!(svg.contains(">c.a.s.Http.service</text>"));
        // What is called by namespaces is fetched by nobody.
        let namespaces = ["http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"];
        let named: usize = namespaces
            .map(|name| svg.matches(name).count())
            .iter()
            .sum();
        let links = svg.matches("http").count() - named;
        assert_eq!(links, 0, "no network");
    }
}

#[test]
fn a_picture_of_a_thinned_tree_counts_what_is_in_no_frame() {
    let mut tree = tree();
    let counted: u64 = tree.nodes.iter().map(|node| node.count).sum();
    let row = TopRow {
        symbol: tree.nodes[0].symbol,
        own: 2_000_000,
        total: 2_000_000,
        count: 5,
        partial: 0,
    };
    tree.rest.push(row);
    let svg = svg(&tree, &Picture::default());
    let all = format!(" · {} calls", counted + 5);
    assert!(svg.contains(&all), "{svg}");
    assert!(html(&[tree], &Picture::default()).contains(&all));
    let entry = svg.lines().find(|line| line.contains(">in no frame "));
    assert!(entry.unwrap().contains("<tspan>2 ms"), "{entry:?}");
}

#[test]
fn pictures_are_coloured_by_kinds_of_work_with_the_colours_of_pages() {
    let categories: Categories = "db com.acme.shop.Http".parse().unwrap();
    let picture = Picture {
        short_names: true,
        categories: Some(&categories),
        ..Picture::default()
    };
    let svg = svg(&tree(), &picture);
    let row = |name: &str| svg.lines().find(|line| line.contains(name)).unwrap_or("");
    let http = row("<title>com.acme.shop.Http.service:");
    assert!(
        http.contains("; Database</title><rect class=\"k-db\""),
        "{http}"
    );
    let entry = row("Database <tspan>");
    assert!(
        entry.starts_with("<g data-k=\"") && entry.contains(" · "),
        "{entry}"
    );

    let tokens = include_str!("../../../../ui/src/shared/tokens.css");
    let style = include_str!("../../../../ui/src/pages/svg.css");
    let (light, dark) = style.split_once("@media").unwrap();
    let mut n_colours = 0;
    for line in tokens.lines().map(str::trim) {
        let Some((name, colours)) = line.split_once(": light-dark(") else {
            continue;
        };
        let name = name.trim_start_matches("--");
        // Of statements that are no object-relational mapping there is one step of blue.
        if !name.starts_with("k-") || name == "k-db-3" {
            continue;
        }
        let (first, second) = colours.trim_end_matches(");").split_once(", ").unwrap();
        for (part, colour) in [(light, first), (dark, second)] {
            let rule = format!(".{name} {{ fill: {colour}; }}");
            let found = part.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(found.contains(&rule), "{rule}");
            n_colours += 1;
        }
    }
    assert_eq!(n_colours, 24);
}

#[test]
fn narrow_frames_are_counted_where_they_would_be() {
    let base = tree_of_one();
    let node = base.nodes[0];
    let narrow = 5_000_u32;
    // Beside a callee that is drawn, and where no other is.
    for wide in [Some(1_000_000), None] {
        let mut tree = CallTree::empty(Measure::wall());
        tree.total = wide.unwrap_or(0) + i64::from(narrow) * 40;
        tree.symbols = vec![Symbol::named("a")];
        tree.nodes = vec![Node {
            total: tree.total,
            own: 0,
            ..node
        }];
        let totals = wide.into_iter().chain((0..narrow).map(|_| 40));
        tree.nodes.extend((1..).zip(totals).map(|(at, total)| Node {
            total,
            own: total,
            parent: Some(0),
            depth: 1,
            end: at + 1,
            ..node
        }));
        tree.nodes[0].end = u32::try_from(tree.nodes.len()).unwrap();
        let svg = svg(&tree, &Picture::default());
        let rest = svg.lines().filter(|line| line.contains("class=\"rest\""));
        let lines: String = rest.collect();
        assert!(
            lines.contains("<title>5,000 narrower frames, 200 µs</title>"),
            "{lines}"
        );
        assert!(svg.matches("<g data-n").count() < 4_100);
    }
}

#[test]
fn callees_wider_than_their_caller_are_narrowed() {
    let mut tree = CallTree::empty(Measure::wall());
    tree.symbols = vec![Symbol::named("a")];
    let base = tree_of_one();
    let node = base.nodes[0];
    tree.total = 100;
    tree.nodes = vec![
        Node {
            total: 100,
            own: 0,
            end: 3,
            ..node
        },
        Node {
            total: 90,
            parent: Some(0),
            depth: 1,
            end: 2,
            ..node
        },
        Node {
            total: 60,
            parent: Some(0),
            depth: 1,
            end: 3,
            ..node
        },
    ];
    let widths: Vec<_> = Layout::of(&tree, 0.0)
        .places
        .iter()
        .map(|p| p.width)
        .collect();
    assert!((widths[1] - 0.6).abs() < 1e-9 && (widths[2] - 0.4).abs() < 1e-9);
}

fn tree_of_one() -> CallTree {
    let mut base = CallTree::empty(Measure::wall());
    base.symbols = vec![Symbol::named("a")];
    let full = tree();
    let id = full.nodes[0].symbol;
    assert_eq!(id.index(), 0);
    let once = Added {
        value: 1,
        count: 1,
        partial: 0,
        durations: None,
    };
    grow(&base, |add| add(&mut std::iter::once(id), &once))
}

#[test]
fn an_empty_tree_is_a_picture_too() {
    let tree = CallTree::empty(Measure::wall());
    assert!(svg(&tree, &Picture::default()).contains("wall 0 ns"));
    assert!(html(std::slice::from_ref(&tree), &Picture::default()).contains("\"symbol\":\"\""));
}
