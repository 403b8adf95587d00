import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "../src/flame/change";
import { bars, type Course } from "../src/flame/course";
import type { Held } from "../src/flame/data";
import { FlameModel } from "../src/flame/model";
import { busiest, columns, runs } from "../src/flame/runs";
import { totals } from "../src/flame/table";
import { byThread, hasThreads } from "../src/flame/threads";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** A column of small numbers, as the program writes it. */
function column(numbers: number[]): string {
  const digits = (number: number) => {
    let rest = number < 0 ? -number * 2 - 1 : number * 2;
    let text = "";
    for (; rest > 31; rest >>>= 5) text += DIGITS[(rest & 31) | 32];
    return text + DIGITS[rest];
  };
  return numbers.map(digits).join("");
}

/** `main` calls `walk`, which calls itself and `sql`; then `main` calls `sql`. */
function held(): Held {
  const names = ["main", "walk", "sql"];
  const nodes: [depth: number, symbol: number, own: number, count: number][] = [
    [0, 0, 10, 1],
    [1, 1, 20, 2],
    [2, 1, 30, 2],
    [3, 2, 5, 4],
    [1, 2, 35, 1],
  ];
  let level = 0;
  const left = nodes.map(([depth]) => {
    const ends = level - depth;
    level = depth + 1;
    return ends;
  });
  return {
    title: "t",
    value: "wall",
    unit: "count",
    unit_name: "",
    source: "calls",
    merge: "sum",
    upwards: false,
    total: 100,
    names,
    wide: false,
    places: ["", "", ""],
    colours: column([0, 1, 2]),
    group: [0, 0, 0],
    categories: ["db"],
    kinds: column([-1, -1, 0]),
    light: [],
    dark: [],
    left: column(left),
    symbol: column(nodes.map((node) => node[1])),
    own: column(nodes.map((node) => node[2])),
    count: column(nodes.map((node) => node[3])),
  };
}

test("totals follow from own values", () => {
  const { tree } = new FlameModel(held());
  assert.deepEqual([...tree.sum], [100, 55, 35, 5, 35]);
  assert.deepEqual([...tree.end], [5, 4, 4, 4, 5]);
  assert.deepEqual([...tree.kind], [-1, -1, -1, 0, 0]);
});

test("functions count what calls itself once", () => {
  const rows = totals(new FlameModel(held()));
  assert.deepEqual(
    rows.map((row) => [row.own, row.sum, row.count]),
    [
      [10, 100, 1],
      [50, 55, 4],
      [40, 40, 5],
    ],
  );
});

test("upside down a path is found from its end", () => {
  const model = new FlameModel(held());
  Object.assign(model.seen, { inverted: true });
  model.reshape();
  const node = model.follow(["sql", "walk", "walk", "main"]);
  assert.equal(model.tree.sum[node], 5);
  assert.deepEqual(model.pathOf(node), ["sql", "walk", "walk", "main"]);
  model.selected = node;
  assert.equal(model.stack(true), "main;walk;walk;sql 5");
});

test("what is cut out keeps the time where it belongs", () => {
  const model = new FlameModel(held());
  const sums = () => [...model.tree.sum].map((sum, at) => `${model.pathOf(at).join(";")} ${sum} ${model.tree.own[at]}`);
  model.seen.cuts = { focus: 1, hidden: [], collapsed: false };
  model.reshape();
  assert.deepEqual(sums(), ["walk 55 20", "walk;walk 35 30", "walk;walk;sql 5 5"]);
  model.seen.cuts = { focus: -1, hidden: [], collapsed: true };
  model.reshape();
  assert.deepEqual(sums(), ["main 100 10", "main;walk 55 50", "main;walk;sql 5 5", "main;sql 35 35"]);
  model.seen.cuts = { focus: -1, hidden: [1], collapsed: false };
  model.reshape();
  assert.deepEqual(sums(), ["main 100 60", "main;sql 40 40"]);
});

test("callers and callees come to the function's total", () => {
  const model = new FlameModel(held());
  const { total, own, callers, callees } = model.sandwich(1);
  assert.deepEqual([total, own], [55, 50]);
  assert.deepEqual(callers, [{ symbol: 0, value: 55 }]);
  assert.deepEqual(callees, [{ symbol: 1, value: 35 }]);
});

test("what a page has no node of counts with its function", () => {
  const rest = { symbol: column([1]), own: column([15]), total: column([15]), count: column([3]) };
  const all = held();
  const model = new FlameModel({ ...all, more: column([15, 0, 0, 0, 0]), rest, total: all.total + 15 });
  const { total, own, calls, callers, unknown } = model.sandwich(1);
  assert.deepEqual([total, own, calls, unknown], [70, 65, 7, [15, 0]]);
  assert.deepEqual(callers, [{ symbol: 0, value: 55 }]);
  assert.equal(model.find("walk"), "matched: 70 60.87 %, self 65 56.52 % · 1 function, 2 frames");
  // Of two that call each other only the self times add up.
  assert.equal(model.find("walk|sql"), "matched: at least 105 91.30 %, self 105 91.30 % · 2 functions, 4 frames");
  assert.equal(model.inNoFrame, 15);
  assert.equal(
    model.kinds().reduce((sum, [, own]) => sum + own, model.inNoFrame),
    115,
  );
  assert.equal(model.cutWords(), "");
  model.seen.inverted = true;
  model.reshape();
  assert.ok(model.cutWords().startsWith("15 of the narrowest frames are not drawn here."));
});

test("a graph asks for what a window shows of a path, and narrow siblings come together", () => {
  const model = new FlameModel(held());
  const asked = (path: number[], least: number, window: [number, number] = [0, 1]) =>
    model.source.nodes(path, least, window);
  assert.deepEqual(asked([], 0), { nodes: [0, 1, 2, 3, 4], narrow: [] });
  const near = ({ left, ...rest }: { left: number }) => ({ ...rest, left: Math.round(left * 100) });
  const { nodes, narrow } = asked([], 0.4);
  assert.deepEqual(nodes, [0, 1]);
  assert.deepEqual(narrow.map(near), [
    { depth: 2, left: 0, width: 0.35, count: 1, more: false, sum: 35 },
    { depth: 1, left: 55, width: 0.35, count: 1, more: false, sum: 35 },
  ]);
  assert.deepEqual(asked([0, 1], 0).nodes, [0, 1, 2, 3], "callers, then what lies below");
  assert.deepEqual(asked([0, 2], 0).nodes, [0, 4]);
  assert.deepEqual(asked([], 0, [0.6, 0.2]).nodes, [0, 4], "what lies beside the window is left out");
});

test("what a page has no node of lies right of what its caller has", () => {
  // The root came to ten more than its nodes say, and the callee that is left is narrow too.
  const more = column([10, 5, 0, 0, 0]);
  const rest = { symbol: column([1]), own: column([15]), total: column([15]), count: column([3]) };
  const all = held();
  const model = new FlameModel({ ...all, more, rest, total: all.total + 15 });
  const { narrow } = model.source.nodes([], 0.4, [0, 1]);
  const said = narrow.map(({ depth, count, more, sum }) => ({ depth, count, more, sum }));
  assert.deepEqual(said, [
    { depth: 2, count: 1, more: true, sum: 40 },
    { depth: 1, count: 1, more: true, sum: 45 },
  ]);
  const widths = narrow.reduce((sum, one) => sum + one.width * 115, 0);
  assert.equal(Math.round(widths), 85);
  const whole = model.source.nodes([], 0, [0, 1]).narrow;
  assert.deepEqual(
    whole.map(({ count, sum }) => [count, sum]),
    [
      [0, 10],
      [0, 5],
    ],
  );
});

/** The same with times: stretches of 10 from 1000 on, the last far behind; threads `a` and `b`. */
function timed(): Held {
  const cells: [stretch: number, thread: number, node: number, own: number, count: number][] = [
    [0, 0, 0, 10, 1],
    [0, 0, 1, 20, 2],
    [1, 0, 2, 30, 2],
    [1, 1, 4, 35, 1],
    [90, 0, 3, 5, 4],
  ];
  const differences = (of: number[]) => of.map((one, at) => one - (of[at - 1] ?? 0));
  const over_time = {
    unix: false,
    step: 10,
    first: "100",
    threads: ["a", "b"],
    stretch: column(differences(cells.map((cell) => cell[0]))),
    thread: column(cells.map((cell) => cell[1])),
    node: column(differences(cells.map((cell) => cell[2]))),
    own: column(cells.map((cell) => cell[3])),
    count: column(cells.map((cell) => cell[4])),
  };
  return { ...held(), over_time };
}

test("a range and a thread have their own tree, table and percentages", () => {
  const model = new FlameModel(timed());
  const sums = () =>
    [...model.tree.sum].map((sum, at) => `${model.pathOf(at).join(";")} ${sum} ${model.tree.calls[at]}`);
  assert.equal(model.data.course?.size, 91);
  model.seen.range = [1, 2];
  model.reshape();
  assert.deepEqual(sums(), ["main 65 0", "main;sql 35 1", "main;walk 30 0", "main;walk;walk 30 2"]);
  assert.equal(model.share(65), "100.00 %");
  assert.deepEqual(
    totals(model).map((row) => [row.own, row.sum]),
    [
      [0, 65],
      [30, 30],
      [35, 35],
    ],
  );
  assert.match(
    model.cutWords(),
    /^only \+0\.00000001 s to \+0\.00000002 s\. Percentages are of what is left .*: 65\.$/,
  );
  model.seen.thread = 1;
  model.reshape();
  assert.deepEqual(sums(), ["main 35 0", "main;sql 35 1"]);
  const state = model.state();
  assert.deepEqual([state.w, state.th], ["1010_1020", "b"]);
  const other = new FlameModel(timed());
  other.recall((key) => (state[key] ? String(state[key]) : null));
  assert.deepEqual([other.seen.range, other.seen.thread, other.held.total], [[1, 2], 1, 35]);
  Object.assign(other.seen, { range: null, thread: -1 });
  other.reshape();
  assert.equal(other.held.total, 100);
});

test("the strip shows where nearly everything is, stacked by kinds", () => {
  // What lies far behind is a twentieth: more than may be left out.
  const model = new FlameModel(timed());
  assert.deepEqual(model.data.course?.bulk(-1), [0, 91]);
  assert.deepEqual(model.data.course?.bulk(1), [1, 2]);
  const course = model.data.course as Course;
  const { kinds, most } = bars(model, course, [0, 2], 2);
  assert.equal(most, 65);
  assert.deepEqual(
    kinds.map(([kind, sums]) => [model.kindName(kind), ...sums]),
    [
      ["Runtime", 30, 30],
      ["Database", 0, 35],
    ],
  );
});

test("frames of classes ran when their functions did", () => {
  const classes = { ...held(), dimension: "class", of_methods: column([0, 1, 1, 2, 2]) };
  const model = new FlameModel(classes, timed());
  model.seen.range = [0, 2];
  model.reshape();
  assert.equal(model.held.total, 95);
});

test("a difference has one measure for colour and percent", () => {
  const compared = {
    word: "before" as const,
    whole: 200,
    per: "recording" as const,
    factors: [1, 1] as [number, number],
    calls: [1, 1] as [number, number],
    totals: [200, 100] as [number, number],
    finding: "",
    symbols: column([0]),
    before: { own: column([9]), total: column([200]), count: column([1]) },
    after: { own: column([10]), total: column([100]), count: column([1]) },
    own_chance: [null],
    total_chance: [null],
  };
  const was = { was: column([200, 55, 30, 5, 35]), was_own: column([9, 20, 30, 5, 45]) };
  const model = new FlameModel({ ...held(), ...was, compared });
  // One of 200 is half a percent; ten less is five.
  assert.deepEqual(
    [...Array(5).keys()].map((node) => model.stepOf(node)),
    [5, 3, 3, 3, 0],
  );
  assert.ok(model.describe(4).includes("change of self -10, -5.00 % of all before"), model.describe(4));
  model.seen.ofTotal = true;
  assert.equal(model.stepOf(0), 0);
  assert.equal(shown("ns", "", "call", 12_345.4), "12.3 µs each");
  assert.equal(shown("count", "", "second", 1.5), "1.50/s");
});

test("a search adds up the outermost matches", () => {
  const model = new FlameModel(held());
  assert.equal(model.find("walk"), "matched: 55 55.00 %, self 50 50.00 % · 1 function, 2 frames");
  assert.equal(model.find(""), "");
});

test("an address brings back what was seen", () => {
  const one = new FlameModel(held());
  one.zoom(one.follow(["main", "walk"]));
  one.seen.sort = "-sum";
  const recalled = () => {
    const state = one.state();
    const other = new FlameModel(held());
    const paths = other.recall((key) => (state[key] === null ? null : String(state[key])));
    assert.equal(other.seen.sort, "-sum");
    return paths;
  };
  // What is zoomed is selected, too.
  assert.deepEqual(recalled(), { zoomed: ["main", "walk"], selected: [], window: null });
  one.look(0.25, 0.125);
  assert.deepEqual(recalled().window, [0.25, 0.125]);
  one.zoom(one.follow(["main", "walk"]));
  one.selected = one.follow(["main"]);
  assert.deepEqual(recalled(), { zoomed: ["main", "walk"], selected: ["main"], window: null });
});

test("own code does not do the work of what calls it, and a kind of work has its functions", () => {
  // `main` is a framework's, `walk` is the program's own, `sql` is of the database.
  const model = new FlameModel({
    ...held(),
    categories: ["db", "web"],
    kinds: column([1, -2, 0]),
    own_packages: ["acme"],
  });
  const kinds = new Map(model.kinds().map(([kind, own]) => [model.kindName(kind), own]));
  assert.deepEqual([kinds.get("Web framework"), kinds.get("Own code"), kinds.get("Database")], [10, 50, 40]);
  assert.deepEqual(model.functionsOf(0), [2]);
  assert.deepEqual(
    [0, 1, 2].map((symbol) => model.kindName(model.kindOfFunction(symbol))),
    ["Web framework", "Own code", "Database"],
  );
  assert.ok(model.tell(1).pairs.some(([label, value]) => label === "kind" && value === "Own code: acme"));
});

test("threads are roots, and come to the whole", () => {
  const methods = timed();
  assert.ok(hasThreads(methods));
  const model = new FlameModel(byThread(methods), methods);
  const { tree } = model;
  const sums = [...tree.sum].map((sum, at) => `${model.pathOf(at).join(";")} ${sum}`);
  assert.deepEqual(sums.slice(0, 3), ["a 65", "a;main 65", "a;main;walk 55"]);
  assert.deepEqual(sums.slice(-3), ["b 35", "b;main 35", "b;main;sql 35"]);
  assert.ok(model.grouping);
});

test("a stack chart has a frame for as long as it stayed", () => {
  const model = new FlameModel(timed());
  const course = model.data.course as Course;
  const all = runs(model.all, columns(course, 0, [0, 2], 4));
  const told = all.map(({ node, from, to }) => `${model.pathOf(node, model.all).join(";")} ${from} ${to}`);
  assert.deepEqual(told, ["main 0 4", "main;walk 0 4", "main;walk;walk 2 4"]);
  assert.equal(busiest(course, [1, 2]), 1);
});
