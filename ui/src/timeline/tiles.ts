/*
 * Parts of a timeline that are asked for while it is looked at. A page that does not hold everything one by one has the whole
 * coarsely; a tile has one stretch of it finely. Its items get numbers behind those of the page, so that everything that knows
 * an item by its number works with both.
 */
import type { ItemSource, Items, Moment } from "../shared/source";
import { type Columns, decode, exact, FOLDED, type Held, HeldItems, halves, PARTIAL_END, PARTIAL_START } from "./data";

/** A stretch as the collector answers. */
export interface TileData {
  held: Held;
  bits: readonly string[];
}

/** Asks for what happened from one moment to another, in nanoseconds since 1970. */
export type AskTile = (from: bigint, to: bigint) => Promise<TileData>;

/** Columns that have a value for each item. */
const ITEMS = ["sh", "sl", "eh", "el", "ch", "cl", "name", "list"] as const;

/** Rows of a track by what they are; tiles and pages count them differently. */
const rowKey = (data: Held, row: number): string => `${data.kinds[row]} ${data.lanes[row]} ${data.levels[row]}`;

/** The capture that a recording's title names, else the title. */
const sourceKey = (data: Held, source: number): string => {
  const { title } = data.sources[source];
  if (data.sources.length === 1) return "";
  return /(?:^|#)(\d+-\d+)(?=\/|$)/.exec(title)?.[1] ?? title;
};

/** Each row's key, the same in a tile as in its page. */
function rowKeys(data: Held, isOne: boolean): string[] {
  const keys: string[] = [];
  const seen = new Map<string, number>();
  let row = 0;
  for (const track of data.tracks) {
    const source = isOne ? "" : sourceKey(data, track.source);
    const name = track.kind === "process" ? "" : `${track.process} ${track.name}`;
    const base = `${source}\n${track.kind}\n${name}`;
    const count = seen.get(base) ?? 0;
    seen.set(base, count + 1);
    for (const last = row + track.rows; row < last; row++) keys.push(`${base}\n${count}\n${rowKey(data, row)}`);
  }
  return keys;
}

/** The page's items, and those of the tile that was asked for last. */
export class TiledItems implements ItemSource {
  /** Items of the page itself. */
  readonly size: number;
  private readonly own: HeldItems;
  private readonly columns: Record<(typeof ITEMS)[number], Uint32Array> & { flags: Uint8Array };
  private readonly lists: number;
  private readonly texts: readonly string[];
  private readonly pairs: Columns["pairs"];
  private readonly rows: Map<string, number>;
  private readonly names: Map<string, number>;
  private tile: {
    from: bigint;
    to: bigint;
    all: boolean;
    items: HeldItems;
    rowOf: Int32Array;
    first: Uint32Array;
  } | null = null;

  constructor(
    private readonly t: Columns,
    private readonly data: Held,
  ) {
    this.size = t.total;
    this.own = new HeldItems({ ...t }, (row) => [t.first[row], t.first[row + 1]]);
    this.columns = { ...t };
    this.lists = data.lists;
    this.texts = data.texts;
    this.pairs = t.pairs;
    this.rows = new Map(rowKeys(data, data.sources.length === 1).map((key, row) => [key, row]));
    this.names = new Map(data.names.map((name, at) => [name, at]));
  }

  /** Returns `true` if a stretch is known as finely as it can be. */
  has(from: bigint, to: bigint): boolean {
    const { tile } = this;
    if (!tile || from < tile.from || to > tile.to) return false;
    return tile.all || (to - from) * 8n > tile.to - tile.from;
  }

  private covers(from: Moment, to: Moment): boolean {
    const { tile } = this;
    const at = ({ h, l }: Moment) => BigInt(h) * 4294967296n + BigInt(Math.floor(l));
    return !!tile && at(from) >= tile.from && at(to) <= tile.to;
  }

  items(row: number, from: Moment, to: Moment, pixel: number): Items {
    const { tile } = this;
    if (!tile || !this.covers(from, to)) return this.own.items(row, from, to, pixel);
    return tile.items.items(row, from, to, pixel);
  }

  /** The row of an item of the tile. */
  rowOf(item: number): number {
    const { tile } = this;
    if (!tile) return 0;
    let low = 0;
    let high = tile.rowOf.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tile.first[middle + 1] <= item) low = middle + 1;
      else high = middle;
    }
    return tile.rowOf[Math.min(low, tile.rowOf.length - 1)];
  }

  /** The items of a row that an item's neighbours are among: those of its tile, or those of the page. */
  range(row: number, item: number): [first: number, last: number] {
    const { tile, t } = this;
    if (item < this.size || !tile) return [t.first[row], t.first[row + 1]];
    const at = tile.rowOf.indexOf(row);
    return at < 0 ? [0, 0] : [tile.first[at], tile.first[at + 1]];
  }

  /** Takes a tile over, in place of the last one; its stretch is in nanoseconds from the start of the page. */
  take({ held, bits }: TileData, from: bigint, to: bigint): void {
    const { t, data, size, columns } = this;
    const of = decode(held, bits);
    const shift = halves(BigInt(held.start) - BigInt(data.start));
    const names = Uint32Array.from(held.names, (name, at) => this.nameOf(name, held, at));
    const total = size + of.total;
    for (const key of ITEMS) {
      const joined = new Uint32Array(total);
      joined.set(columns[key]);
      joined.set(of[key], size);
      t[key] = joined;
    }
    t.flags = new Uint8Array(total);
    t.flags.set(columns.flags);
    t.flags.set(of.flags, size);
    for (const item of [...t.folded.keys()]) if (item >= size) t.folded.delete(item);
    for (const [item, count] of of.folded) t.folded.set(size + item, count);
    for (let item = size; item < total; item++) {
      [t.sh[item], t.sl[item]] = later(t.sh[item], t.sl[item], shift);
      [t.eh[item], t.el[item]] = later(t.eh[item], t.el[item], shift);
      t.name[item] = names[t.name[item]];
      if (t.list[item]) t.list[item] += this.lists;
    }
    this.takeLists(of, held);
    const keys = rowKeys(held, data.sources.length === 1 && held.sources.length === 1);
    const rowOf = Int32Array.from(keys, (key) => this.rows.get(key) ?? -1);
    const first = Uint32Array.from(of.first, (item) => size + item);
    this.mend(rowOf, first, from, to);
    // By the rows of the page: the tile has nothing of those that it does not name.
    const levels: Columns["levels"] = data.counts.map(() => []);
    const ends = new Map<number, readonly [number, number]>();
    rowOf.forEach((row, at) => {
      if (row < 0) return;
      ends.set(row, [first[at], first[at + 1]]);
      const behind = (item: number) => size + item;
      levels[row] = of.levels[at].map((one) => ({ ...one, from: one.from.map(behind), pick: one.pick.map(behind) }));
    });
    const { sh, sl, eh, el } = t;
    const items = new HeldItems({ levels, sh, sl, eh, el }, (row) => ends.get(row) ?? [0, 0]);
    this.tile = { from, to, all: held.all, items, rowOf, first };
  }

  /** The number of a name of a tile among those of the page. */
  private nameOf(name: string, held: Held, at: number): number {
    let number = this.names.get(name);
    if (number === undefined) {
      number = this.data.names.push(name) - 1;
      this.data.kinds_of_work.push(held.kinds_of_work[at]);
      this.data.colours.push(held.colours[at]);
      this.names.set(name, number);
    }
    return number;
  }

  /** Attributes of the tile behind those of the page. */
  private takeLists(of: Columns, held: Held): void {
    const { t, data, lists, texts, pairs } = this;
    data.texts = [...texts, ...held.texts];
    data.lists = lists + held.lists;
    t.pairs = (list) => (list > lists ? of.pairs(list - lists) : pairs(list));
  }

  /** What goes on beyond the tile is as long as the page knows it; a tile has the part of it that is inside. */
  private mend(rowOf: Int32Array, first: Uint32Array, from: bigint, to: bigint): void {
    const { t, own } = this;
    rowOf.forEach((row, at) => {
      if (row < 0) return;
      for (let item = first[at]; item < first[at + 1]; item++) {
        if (!(t.flags[item] & (PARTIAL_START | PARTIAL_END))) continue;
        const [start, end] = [exact(t.sh[item], t.sl[item]), exact(t.eh[item], t.el[item])];
        if (start > from && end < to) continue;
        const around = own.items(row, halves(start), halves(end), 0);
        for (let place = 0; place < around.size; place++) {
          const whole = around.first(place);
          const isIt = exact(t.sh[whole], t.sl[whole]) <= start && exact(t.eh[whole], t.el[whole]) >= end;
          if (!isIt || t.flags[whole] & FOLDED || t.name[whole] !== t.name[item]) continue;
          for (const key of ITEMS) t[key][item] = t[key][whole];
          t.flags[item] = t.flags[whole];
        }
      }
    });
  }
}

/** A moment of two halves, later by another. */
function later(h: number, l: number, by: Moment): [h: number, l: number] {
  const low = l + by.l;
  const carry = low >= 4294967296 ? 1 : 0;
  return [h + by.h + carry, low - carry * 4294967296];
}
