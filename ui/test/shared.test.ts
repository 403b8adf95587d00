import assert from "node:assert/strict";
import { test } from "node:test";
import amounts from "../examples/amounts.json";
import kinds from "../examples/kinds.json";
import names from "../examples/names.json";
import { amount, grouped, type Scale } from "../src/shared/amount";
import { kindName, kindToken } from "../src/shared/kinds";
import { characters, fit, levels } from "../src/shared/names";
import { numbers } from "../src/shared/numbers";
import { exactly, matcher } from "../src/shared/search";
import { inZone } from "../src/shared/zone";

test("columns are read as they are written", () => {
  assert.deepEqual([...numbers("ACBegBhB")], [0, 1, -1, 15, 16, -17]);
  // Beyond 2^53 a number of a script is the nearest.
  assert.deepEqual([...numbers("+///////////P")], [2 ** 63]);
  assert.deepEqual([...numbers("")], []);
});

test("amounts have three digits, rounded", () => {
  assert.equal(amount("ns", 1_994_999), "1.99 ms");
  assert.equal(amount("ns", -9_999_000_000), "-10.0 s");
  assert.equal(amount("ns", 999), "999 ns");
  assert.equal(amount("bytes", 2 ** 20), "1.00 MiB");
  assert.equal(amount("count", 1234, "chars"), "1,234 chars");
  assert.equal(grouped(1234567), "1,234,567");
});

test("a search is an expression, or a text where it is none", () => {
  assert.ok(matcher("^get$")("Get"));
  assert.ok(matcher("(no")("(NO stack)"));
  assert.ok(!matcher(exactly("a.b"))("a_b"));
});

test("amounts are written as in the program", () => {
  for (const [unit, value, text] of amounts) assert.equal(amount(unit as Scale, Number(value)), text);
});

test("names fit as they do in the program", () => {
  for (const [name, room, label] of names) {
    assert.equal(fit(levels(String(name)), Number(room), characters), label, `${name} in ${room}`);
  }
});

test("kinds of work are called and coloured as in the program", () => {
  for (const [name, title, token] of kinds)
    assert.deepEqual([kindName(0, [name]), kindToken(0, [name])], [title, token]);
});

test("moments are shown in the reader's zone with all their digits", () => {
  const text = "2026-03-14T04:51:48.024Z to 2026-03-14T23:52:19.406123Z";
  assert.equal(
    inZone(text, () => -330),
    "2026-03-14T10:21:48.024+05:30 to 2026-03-15T05:22:19.406123+05:30",
  );
  assert.equal(
    inZone("at 2026-03-14T00:30:00Z", () => 60),
    "at 2026-03-13T23:30:00-01:00",
  );
});
