import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call, Span } from "../src/app/api";
import { around, bottomUp, callTree, criticalPath, functions } from "../src/app/call_tree";
import {
  asksFailed,
  completions,
  hasMostDuration,
  leastDuration,
  ofEntry,
  quoted,
  type Vocabulary,
  withDuration,
  withFailed,
} from "../src/app/filter";
import { packed } from "../src/app/flame_data";
import { type Live, withCall } from "../src/app/live";
import { percent } from "../src/shared/amount";
import { numbers } from "../src/shared/numbers";

const KNOWN: Vocabulary = {
  fields: ["duration", "thread", "title", "error"],
  names: ["memory_used", "title", "web.url"],
  values: new Map([
    ["thread", ["exec 1", "main"]],
    ["web.url", ["/orders"]],
  ]),
};
const texts = (before: string) => completions(before, KNOWN).map(({ text }) => text);

test("a filter goes on with names, operators, values and joints", () => {
  assert.deepEqual(texts("du"), ["duration"]);
  assert.deepEqual(texts("mem"), ["memory_used"]);
  assert.deepEqual(texts("$ti"), ["$title"]);
  assert.deepEqual(texts("duration ").slice(0, 2), ["=", "!="]);
  assert.deepEqual(texts("thread = "), ["'exec 1'", "main"]);
  assert.deepEqual(texts("thread = 'ex"), ["'exec 1'"]);
  assert.deepEqual(texts("$web.url="), ["/orders"]);
  assert.deepEqual(texts("main ").slice(0, 3), ["and", "or", "not"]);
  // What is taken replaces what was typed of it.
  const [taken] = completions("error and thread = 'ex", KNOWN);
  assert.equal("error and thread = 'ex".slice(0, taken.from) + taken.text, "error and thread = 'exec 1'");
});

test("an entry point is a pattern of titles", () => {
  assert.equal(ofEntry("GET /v1/orders/?"), "title ~ '^GET /v1/orders/[\\w.:?-]+$'");
  assert.equal(ofEntry("say (it's)"), "title ~ '^say \\(it.s\\)$'");
  assert.equal(ofEntry("a.B.run"), "title ~ '^a\\.B\\.run$' or method ~ '^a\\.B\\.run$' and title !~ .");
});

test("values of several words are quoted", () => {
  assert.equal(quoted("main"), "main");
  assert.equal(quoted("exec 1"), "'exec 1'");
  assert.equal(quoted("it's"), `"it's"`);
  assert.equal(quoted("and"), "'and'");
});

test("bounds of the duration replace older ones", () => {
  assert.equal(withDuration("", "10ms"), "duration >= 10ms");
  assert.equal(withDuration("duration >= 10ms", "1s", "5s"), "duration >= 1s and duration <= 5s");
  assert.equal(withDuration("duration >= 10ms and thread = main", ""), "thread = main");
  assert.equal(withDuration("+slow and duration >= 10ms", "1s"), "+slow and duration >= 1s");
  assert.equal(leastDuration("x and duration >= 500ms"), "500ms");
  // Of two choices both are asked for longer calls, and a bound in one of them stays.
  assert.equal(withDuration("main or work", "1s"), "(main or work) and duration >= 1s");
  assert.equal(withDuration("(main or work) and duration >= 1s", "5s"), "(main or work) and duration >= 5s");
  assert.equal(withDuration("main or duration >= 1s", "5s"), "(main or duration >= 1s) and duration >= 5s");
  assert.equal(withDuration("title = 'this or that'", "1s"), "title = 'this or that' and duration >= 1s");
  assert.equal(leastDuration("main or duration >= 1s"), "");
  assert.ok(hasMostDuration("main and duration >= 1s and duration <= 5s"));
  assert.ok(!hasMostDuration("duration >= 1s"));
  assert.ok(!hasMostDuration("main or duration <= 5s"));
});

test("each call that arrives counts once", () => {
  const call = (id: string, status: string) => ({ id, status, capture: { id: "1-1", call: id } }) as unknown as Call;
  let live: Live = { calls: [], count: 0, isMore: false, problem: "" };
  for (const one of [call("a", "running"), call("b", "complete"), call("a", "complete")]) live = withCall(live, one);
  assert.equal(live.count, 2);
  assert.deepEqual(
    live.calls.map(({ id, status }) => [id, status]),
    [
      ["a", "complete"],
      ["b", "complete"],
    ],
  );
});

test("failed calls are asked for once", () => {
  assert.equal(withFailed("main", true), "main and error = true");
  assert.equal(withFailed("main and error = true", false), "main");
  assert.equal(withFailed("main or work", true), "(main or work) and error = true");
  assert.equal(withFailed("error = true and main", false), "main");
  assert.ok(asksFailed("error = true"));
  assert.ok(asksFailed("main and error = true"));
  // By itself it is a word, and what is one of two is not asked for alone.
  assert.ok(!asksFailed("error"));
  assert.ok(!asksFailed("main or error = true"));
  assert.ok(!asksFailed("not error"));
});

test("shares have three digits and say all of all alone", () => {
  assert.deepEqual(
    [
      [1, 1],
      [797, 1000],
      [332, 10000],
      [4, 10000],
      [1, 1_000_000],
      [99999, 100000],
      [0, 5],
    ].map(([part, whole]) => percent(part, whole)),
    ["100 %", "79.7 %", "3.32 %", "0.04 %", "< 0.01 %", "99.9 %", "0 %"],
  );
});

/** Spans of a call from `depth function offset duration` a line. */
function spansOf(text: string): Span[] {
  const rows = text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(" "));
  const spans = rows.map(([depth, name, offset, duration], index) => ({
    ...{ index, depth: Number(depth), below: 0, function: name, failed: false, attributes: [] },
    ...{ start_ns: 0, end_ns: 0, offset_ns: Number(offset), duration_ns: Number(duration), self_ns: 0 },
  }));
  for (const [at, span] of spans.entries()) {
    const end = spans.findIndex((one, index) => index > at && one.depth <= span.depth);
    const below = spans.slice(at + 1, end < 0 ? undefined : end);
    const called = below.filter(({ depth }) => depth === span.depth + 1);
    span.self_ns = span.duration_ns - called.reduce((sum, { duration_ns }) => sum + duration_ns, 0);
  }
  return spans;
}

const CALL = `
  0 handle 0 100
  1 load 10 30
  2 query 15 20
  1 load 50 40
  2 query 60 10
  2 query 75 10`;

test("spans of one path are one node, and totals come to the call", () => {
  const [root] = callTree(spansOf(CALL)).children;
  const [load] = root.children;
  assert.deepEqual([root.total, root.self, root.times], [100, 30, 1]);
  assert.deepEqual([load.name, load.total, load.self, load.times], ["load", 70, 30, 2]);
  assert.deepEqual([load.children[0].total, load.children[0].times], [40, 3]);
});

test("from the callees up, own times come to the call", () => {
  const tree = bottomUp(spansOf(CALL));
  assert.equal(tree.total, 100);
  assert.deepEqual(
    tree.children.map(({ name, self }) => [name, self]),
    [
      ["query", 40],
      ["handle", 30],
      ["load", 30],
    ],
  );
  assert.deepEqual(tree.children[0].children[0].name, "load");
});

test("recursion counts once", () => {
  const spans = spansOf(`
    0 walk 0 100
    1 walk 10 80
    2 read 20 50`);
  const [walk] = functions(spans).filter(({ name }) => name === "walk");
  assert.deepEqual([walk.total, walk.self, walk.times], [100, 50, 2]);
  assert.deepEqual(
    around(spans, "walk").callees.map(({ name, total }) => [name, total]),
    [["walk", 80]],
  );
});

test("the critical path is what ended last, back to the start", () => {
  // Of two that ran beside each other the longer one was waited for.
  const path = criticalPath(
    spansOf(`
    0 all 0 100
    1 short 10 30
    1 long 20 70
    2 inner 30 50`),
  );
  assert.deepEqual(
    path.map(({ span, ns }) => [span.function, ns]),
    [
      ["all", 20],
      ["short", 10],
      ["long", 20],
      ["inner", 50],
    ],
  );
  assert.equal(
    path.reduce((sum, { ns }) => sum + ns, 0),
    100,
  );
});

test("columns are read as they are packed", () => {
  const values = [0, 1, -1, 15, 16, -17, 1023, 1e6, -1e9, 2 ** 31, 9_007_199_254_740_000];
  assert.deepEqual([...numbers(packed(values))], values);
});
