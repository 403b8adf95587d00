import assert from "node:assert/strict";
import { test } from "node:test";
import { type Columns, decode, FOLDED, type Held, HeldItems } from "../src/timeline/data";
import { roundUp, TimelineModel } from "../src/timeline/model";
import { ranIn } from "../src/timeline/range";
import { MOST, sheet } from "../src/timeline/sheet";
import { inside } from "../src/timeline/table";
import { TiledItems } from "../src/timeline/tiles";
import { atWork, Words } from "../src/timeline/words";
import { kindsOfWork } from "../src/timeline/work";

test("an axis ends with a round value", () => {
  assert.deepEqual(
    [0, 3, 18, 50, 51, 0.3].map((value) => roundUp(value, "count")),
    [1, 5, 20, 50, 100, 0.5],
  );
  assert.equal(roundUp(509 * 2 ** 20, "bytes"), 512 * 2 ** 20);
  assert.equal(roundUp(512 * 2 ** 20, "bytes"), 512 * 2 ** 20);
});

/** A row of four items from 0 to 40, the last two drawn together at 16 nanoseconds a pixel. */
function row(): Columns {
  const numbers = (...of: number[]) => Uint32Array.from(of);
  const level = {
    pixel: 16,
    count: 3,
    from: numbers(0, 1, 2, 4),
    pick: numbers(0, 1, 3),
    filled: Uint8Array.of(255, 255, 51),
  };
  const four = numbers(0, 0, 0, 0);
  return {
    total: 4,
    first: numbers(0, 4),
    sh: four,
    sl: numbers(0, 10, 20, 38),
    eh: four,
    el: numbers(5, 18, 22, 40),
    ch: four,
    cl: four,
    name: four,
    list: four,
    flags: new Uint8Array(4),
    folded: new Map(),
    levels: [[level]],
    counters: [],
    pairs: () => [],
  };
}

test("a timeline asks for the items between two moments, narrow ones together", () => {
  const source = new HeldItems(row(), () => [0, 4]);
  const asked = (from: number, to: number, pixel: number) => {
    const items = source.items(0, { h: 0, l: from }, { h: 0, l: to }, pixel);
    return Array.from({ length: items.size }, (_, at) => [items.first(at), items.last(at), items.shown(at)]);
  };
  const one = (item: number) => [item, item, item];
  assert.deepEqual(asked(0, 41, 1), [one(0), one(1), one(2), one(3)]);
  assert.deepEqual(asked(6, 20, 1), [one(1)], "what ends before or begins at the end is left out");
  assert.deepEqual(asked(18, 21, 1), [one(1), one(2)]);
  assert.deepEqual(asked(0, 41, 20), [one(0), one(1), [2, 3, 3]]);
  assert.deepEqual(asked(50, 60, 20), []);
  const items = source.items(0, { h: 0, l: 30 }, { h: 0, l: 41 }, 16);
  assert.deepEqual([items.size, items.filled(0)], [1, 0.2]);
});

test("what ran in a range counts as far as it lies in it", () => {
  // `main` from 0 to 100 calls `get` from 10 to 40, and itself from 50 to 90.
  const numbers = (...of: number[]) => Uint32Array.from(of);
  const columns = {
    ...row(),
    first: numbers(0, 1, 3),
    sh: numbers(0, 0, 0),
    sl: numbers(0, 10, 50),
    eh: numbers(0, 0, 0),
    el: numbers(100, 40, 90),
    name: numbers(0, 1, 0),
    levels: [[], []],
  };
  const model = {
    t: columns,
    source: new HeldItems(columns, (row) => [columns.first[row], columns.first[row + 1]]),
    data: { kinds: [2, 2], levels: [0, 1], names: ["main", "get"] },
    tracks: [{ first: 0, rows: 2 }],
  } as unknown as TimelineModel;
  assert.deepEqual(ranIn(model, 20n, 80n), {
    functions: [
      { name: 0, own: 40, total: 60, calls: 1 },
      { name: 1, own: 20, total: 20, calls: 0 },
    ],
    together: 0,
  });
  assert.deepEqual(ranIn(model, 0n, 100n), {
    functions: [
      { name: 0, own: 70, total: 100, calls: 2 },
      { name: 1, own: 30, total: 30, calls: 1 },
    ],
    together: 0,
  });
  // Where the second call of `main` is 7 short spans, it is not known what lies in the first by itself.
  columns.flags[2] = FOLDED;
  columns.folded.set(2, 7);
  const { functions, together } = ranIn(model, 0n, 100n);
  assert.deepEqual(
    functions.map(({ name, total, calls }) => [name, total, calls]),
    [
      [0, 100, 1],
      [1, 30, 1],
    ],
  );
  assert.equal(together, 7);
  assert.equal(ranIn(model, 0n, 45n).together, 0);
});

test("paper has all tracks, as far as a canvas goes", () => {
  const lines = [0, 1, 2].map((at) => ({ top: at * 4_000, height: 4_000 }));
  assert.deepEqual(sheet(lines.slice(0, 1), 4_040, 40), [4_040, 0]);
  assert.deepEqual(sheet(lines, 12_040, 40), [MOST, 2]);
});

/** The bytes of rows of items: gap, length, name, flags, and of items drawn together how many; without levels and lists. */
function bits(rows: readonly (readonly (readonly number[])[])[]): string {
  const number = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...number(value >> 7)]);
  const bytes = rows.flatMap((row) => [...row.flat().flatMap(number), ...number(0)]);
  return btoa(String.fromCharCode(...bytes));
}

/** A track of two levels of a recording that begins at `start`. */
function told(start: number, length: number, names: string[], counts: number[], all: boolean): Held {
  const none = { title: "data#1-1", unix: true, missing: "", unplaced: 0, details_left_out: 0 };
  return {
    ...{ start: String(start), length: String(length), bulk: [], unix: true, all, lists: 0, lists_left_out: 0 },
    ...{ texts: [], names, categories: [], kinds_of_work: names.map(() => -1), colours: names.map(() => 0) },
    ...{ sources: [none], kinds: [2, 2], lanes: [0, 0], levels: [0, 1], counts, values: ["", ""], counters: [] },
    tracks: [{ source: 0, name: "main", process: "p", kind: "thread", rows: 2 }],
  } as unknown as Held;
}

test("recordings with nothing to show have no line, and are counted", () => {
  const page = told(5000, 1000, ["main", "get"], [1, 1], true);
  const other = { ...page.sources[0], title: "data#1-2", unix: false };
  const model = new TimelineModel({ ...page, sources: [page.sources[0], other] } as Held, [
    bits([[[0, 1000, 0, 0]], [[400, 20, 1, 0]]]),
  ]);
  model.layout.arrange(500);
  assert.deepEqual(
    model.layout.lines.map(({ name }) => name),
    ["data#1-1", "main"],
  );
  assert.equal(new Words(model).missing(), "1 of 2 recordings have nothing to show.");
});

test("of what is drawn together counts are apart, and lengths are from the first to the last", () => {
  const page = told(5000, 1000, ["main", "get"], [1, 1], false);
  const model = new TimelineModel(page, [bits([[[0, 1000, 0, 0]], [[400, 20, 1, 32, 2]]])]);
  model.view.span = 1000;
  const { found, count, together } = inside(model, model.tracks[0]);
  assert.deepEqual([found.length, count, together], [2, 1, 2]);
  const words = new Words(model);
  const lengths = (item: number) => words.tell(item).filter(([label]) => /duration|last/.test(label));
  assert.deepEqual(lengths(0), [["duration", "1 µs"]]);
  assert.deepEqual(lengths(1), [["from first to last", "20 ns"]]);
  assert.equal(words.describe(1), "20 ns from first to last");
  assert.equal(atWork(model, 2.5), "tracks at work");
  assert.equal(atWork({ ...model, data: { ...page, all: true } } as TimelineModel, 2.5), "at most 3 at work");
});

test("of many recordings without times some are named, and the others counted", () => {
  const page = told(5000, 1000, ["main", "get"], [1, 1], true);
  const others = [1, 2, 3, 4].map((at) => ({ ...page.sources[0], title: `data#1-${at}`, missing: "none has a time" }));
  const model = new TimelineModel({ ...page, sources: [page.sources[0], ...others] } as Held, [
    bits([[[0, 1000, 0, 0]], [[400, 20, 1, 0]]]),
  ]);
  const named = [1, 2, 3].map((at) => `data#1-${at}: none has a time.`);
  const rest = ["1 more recordings have samples without a time.", "4 of 5 recordings have nothing to show."];
  assert.equal(new Words(model).missing(), [...named, ...rest].join(" "));
});

test("a tile has what the page draws together, and what goes on beyond it is whole", () => {
  // `main` from 0 to 1000; of what it calls the page knows that two short ones lie between 400 and 420, the longest `get`.
  const page = told(5000, 1000, ["main", "get"], [1, 1], false);
  const columns = decode(page, [bits([[[0, 1000, 0, 0]], [[400, 20, 1, 32, 2]]])]);
  assert.equal(columns.folded.get(1), 2);
  const tiles = new TiledItems(columns, page);
  const asked = (row: number, from: number, to: number) => {
    const items = tiles.items(row, { h: 0, l: from }, { h: 0, l: to }, 0);
    return Array.from({ length: items.size }, (_, at) => items.first(at));
  };
  assert.deepEqual([asked(0, 0, 1000), asked(1, 0, 1000)], [[0], [1]]);
  assert.equal(tiles.has(390n, 430n), false);
  // The tile from 390 to 430 has its part of `main`, and both short ones: `set`, which the page does not know, and `get`.
  const tile = told(5390, 40, ["set", "main", "get"], [1, 2], true);
  const inside = bits([
    [[0, 40, 1, 3]],
    [
      [10, 5, 0, 0],
      [3, 12, 2, 0],
    ],
  ]);
  tiles.take({ held: tile, bits: [inside] }, 390n, 430n);
  assert.ok(tiles.has(395n, 425n) && !tiles.has(380n, 425n));
  const [whole] = asked(0, 395, 425);
  const exact = (item: number) => [
    columns.sl[item],
    columns.el[item],
    page.names[columns.name[item]],
    columns.flags[item],
  ];
  assert.deepEqual(exact(whole), [0, 1000, "main", 0]);
  assert.deepEqual(asked(1, 395, 425).map(exact), [
    [400, 405, "set", 0],
    [408, 420, "get", 0],
  ]);
  const [set, get] = asked(1, 395, 425);
  assert.deepEqual([tiles.rowOf(whole), tiles.rowOf(set), tiles.rowOf(get)], [0, 1, 1]);
  assert.deepEqual(tiles.range(1, set), [set, get + 1]);
  // Beyond it the page answers, and another tile takes its place.
  assert.deepEqual(asked(1, 0, 1000), [1]);
  tiles.take({ held: told(5000, 10, [], [0, 0], true), bits: [bits([[], []])] }, 0n, 10n);
  assert.deepEqual([asked(1, 395, 425), columns.name.length], [[1], 2]);
});

test("a span without a kind of work has that of its caller, own code has none", () => {
  // `query` calls `own` and two short ones, the longest `socket`, `own` calls `lib` as `query` does.
  const names = ["query", "own", "socket", "lib"];
  const page = { ...told(0, 1000, names, [2, 3], true), categories: ["db"], kinds_of_work: [0, -2, -1, -1] };
  const spans = [
    [
      [0, 500, 0, 0],
      [0, 500, 1, 0],
    ],
    [
      [100, 20, 2, 32, 2],
      [30, 50, 1, 0],
      [400, 100, 3, 0],
    ],
  ];
  const columns = decode(page, [bits(spans)]);
  const kinds = kindsOfWork(columns, page, new TiledItems(columns, page));
  const [own, lib] = [kinds[1], kinds[4]];
  assert.deepEqual([...kinds], [0, own, 0, own, lib]);
  assert.ok(own < 0 && lib < 0 && own !== lib);
});
