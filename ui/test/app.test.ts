import assert from "node:assert/strict";
import { test } from "node:test";
import {
  asksFailed,
  completions,
  leastDuration,
  quoted,
  type Vocabulary,
  withDuration,
  withFailed,
} from "../src/app/filter";
import { percent } from "../src/shared/amount";

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
});

test("failed calls are asked for once", () => {
  assert.equal(withFailed("main", true), "main and error = true");
  assert.equal(withFailed("main and error = true", false), "main");
  assert.ok(asksFailed("error = true"));
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
