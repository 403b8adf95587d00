import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capture } from "../src/app/api";
import { firstBase, lies } from "../src/app/base";
import { cells, heat } from "../src/app/cells";
import { type Column, ordered } from "../src/app/order";
import { isOfServices, keyOfService, serviceKeys } from "../src/app/services";
import { newest } from "../src/app/stretch";
import { apart, told, withoutDrawing } from "../src/app/told";
import { sums, telling } from "../src/app/values";

const capture = (id: string, service: string, instance: string, opened_ns: number): Capture =>
  ({ id, service, instance, opened_ns, parts: [] }) as unknown as Capture;

test("a comparison begins with the stretch before the chosen one, else with the capture before", () => {
  const captures = [capture("1-1", "shop", "a", 1), capture("1-2", "stock", "a", 2), capture("1-3", "shop", "a", 3)];
  const from = 1_773_463_907_604_000_001n;
  assert.deepEqual(firstBase({ from, to: from + 2_000_000_000n }, "1-3", captures), {
    from: "2026-03-14T04:51:47.604000001Z",
    to: "2026-03-14T04:51:49.604000001Z",
    base_from: "2026-03-14T04:51:45.604000001Z",
    base_to: "2026-03-14T04:51:47.604000001Z",
  });
  assert.deepEqual(firstBase(null, "1-3", captures), { base: "1-1" });
  assert.deepEqual(firstBase(null, "1-2", captures), {});
  assert.deepEqual(firstBase(null, "", captures), {});
  assert.deepEqual(firstBase(null, "", captures, ["1.2.3"]), {});
  assert.deepEqual(firstBase(null, "", captures, ["1.2.3", "1.2.4", "1.3.0"]), {
    base_version: "1.2.4",
    version: "1.3.0",
  });
  assert.deepEqual(firstBase(null, "1-3", captures, ["1.2.3", "1.2.4"]), { base: "1-1" });
});

test("services of one name have their namespace before it", () => {
  const of = (namespace: string, service: string) => ({ namespace, service });
  const all = [of("", ""), of("asia", "stock"), of("eu", "stock"), of("eu", "shop"), of("eu", "")];
  assert.deepEqual(serviceKeys(all), ["/", "asia/stock", "eu/", "eu/stock", "shop"]);
  for (const one of all) {
    const wanted = [keyOfService(one, all)];
    assert.deepEqual(
      all.filter((other) => isOfServices(wanted, other)),
      [one],
    );
  }
  assert.equal(all.filter((one) => isOfServices(["stock"], one)).length, 2);
  assert.ok(isOfServices([], of("eu", "shop")) && isOfServices([""], of("eu", "shop")));
});

test("a capture lies where decoding it showed, before that where it was received", () => {
  const of = (facts: object | null) =>
    ({ opened_ns: 177e16, closed_ns: 177e16 + 1e9, facts }) as unknown as Parameters<typeof lies>[0];
  const decoded = of({ decoded: true, first_ns: 176e16, last_ns: 176e16 + 1e9 });
  assert.ok(lies(decoded, 176e16 + 1e9, undefined) && lies(decoded, undefined, 176e16 + 1e6));
  assert.ok(!lies(decoded, 177e16, undefined) && !lies(decoded, undefined, 176e16));
  assert.ok(lies(of(null), 177e16, undefined) && !lies(of(null), 178e16, undefined));
  // What has no dates lies between none.
  const [timeless, offset] = [of({ decoded: true }), of({ decoded: true, first_ns: 0, last_ns: 1e9 })];
  for (const one of [timeless, offset]) assert.ok(lies(one, undefined, undefined) && !lies(one, 1e18, undefined));
});

test("rows stand by a column, and what is not known stands last", () => {
  const column: Column<number | null> = { name: "n", text: "value", value: (row) => row, cell: String };
  const rows = [3, null, 7, 3];
  assert.deepEqual(ordered(rows, column, true), [2, 0, 3, 1]);
  assert.deepEqual(ordered(rows, column, false), [0, 3, 2, 1]);
});

test("a map has a cell for each moment and instance", () => {
  const captures = [capture("1-1", "shop", "a", 0), capture("1-2", "shop", "b", 0), capture("1-3", "shop", "a", 1190)];
  const of = cells([...captures, capture("1-4", "shop", "a", 1)]);
  assert.deepEqual(
    [...of].map(([key, some]) => [key, some.map((one) => one.id)]),
    [
      ["0 0", ["1-1", "1-4"]],
      ["0 1", ["1-2"]],
      ["119 0", ["1-3"]],
    ],
  );
  assert.deepEqual([1, 2, 3, 4, 31, 100, 1000].map(heat), [1, 2, 2, 3, 4, 6, 6]);
});

test("values of all parts are summed, and the one that is drawn is named where others are zero", () => {
  const values = [
    { type: "heap-space", unit: "bytes", total: 0 },
    { type: "wall-time", unit: "ns", total: 7 },
  ];
  const found = sums([{ inputs: [{ values }, {}] }, { values: [{ type: "wall-time", unit: "ns", total: 2 }] }]);
  assert.deepEqual(found, [
    { name: "heap-space", unit: "bytes", total: 0 },
    { name: "wall-time", unit: "ns", total: 9 },
  ]);
  assert.equal(telling(found, "wall-time"), "wall-time");
  assert.equal(telling(found, "heap-space"), "");
  assert.equal(telling(found, "cpu"), "");
  assert.equal(telling(found.slice(1), "wall-time"), "");
});

test("messages of the command reach pages without the folders of its machine", () => {
  const notes = "; `traceloom check '/srv/data#2-1'` lists them";
  assert.deepEqual(told(`/srv/data#2-1: 0 damage and 1 warn notes${notes}`), {
    text: "capture 2-1: 0 damage and 1 warn notes",
    to: "/captures/2-1",
  });
  assert.deepEqual(told("/srv/my data: 3 damage and 1 warn notes; `traceloom check '/srv/my data'` lists them"), {
    text: "3 damage and 1 warn notes",
    to: "/captures?doubtful=1",
  });
  assert.equal(
    withoutDrawing("nothing from 1 to 2; - is not written: there is nothing to draw"),
    "nothing from 1 to 2",
  );
  assert.equal(withoutDrawing("- is not written: there is nothing to draw"), "");
  assert.equal(withoutDrawing("nothing here to show"), "");
  assert.equal(withoutDrawing("no capture is of nobody"), undefined);
  assert.deepEqual(told("/srv/data: 2 calls are cut off"), { text: "2 calls are cut off" });
  assert.deepEqual(told("the filter takes none of 3 calls: /orders"), {
    text: "the filter takes none of 3 calls: /orders",
  });
  const about = "wall 41.6 s · 55 functions · data: 0 damage and 1 warn notes; `traceloom check data` lists them";
  assert.deepEqual(apart(about), {
    about: "wall 41.6 s · 55 functions",
    messages: ["data: 0 damage and 1 warn notes; `traceloom check data` lists them"],
  });
});

test("a timeline of captures that lie far apart begins with the last day", () => {
  const of = (first_ns: number, last_ns: number) => ({ facts: { first_ns, last_ns } }) as unknown as Capture;
  const [old, noon, evening] = [of(12e17, 12e17 + 1e9), of(177e16, 177e16 + 1e9), of(177e16 + 9e12, 177e16 + 10e12)];
  assert.equal(newest([noon, evening]), undefined);
  assert.deepEqual(newest([noon, old, evening]), { from: 177e16, to: 177e16 + 10e12, outside: 1, first: 12e17 });
  // A clock of unknown origin has no place among dates, and alone its own.
  const offset = of(0, 1e9);
  assert.equal(newest([offset]), undefined);
  assert.deepEqual(newest([offset, noon]), { from: 177e16, to: 177e16 + 1e9, outside: 1, first: 177e16 });
});
