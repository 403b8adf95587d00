/*
 * The bytes of a timeline as columns. Times are whole nanoseconds of 64 bits, in two halves: `sh` and `sl` of the
 * start, `eh` and `el` of the end, counted from time zero of the page.
 */
import type { Scale } from "../shared/amount";
import type { ItemSource, Items, Moment } from "../shared/source";

export const FAILED = 4;
export const PARTIAL_START = 1;
export const PARTIAL_END = 2;
const COVERED = 8;
const DETAIL = 16;
export const FOLDED = 32;
/** Kinds of rows. */
export const PAUSE = 0;
export const LOSS = 1;
export const SPAN = 2;
export const WAIT = 3;
export const EVENT = 4;
export const SAMPLE = 5;

export const HALF = 4294967296;

export interface HeldTrack {
  source: number;
  name: string;
  process: string;
  kind: string;
  level: number;
  rows: number;
  spans: number;
  partial: number;
  failed: number;
  waits: number;
  pauses: number;
  losses: number;
  events: number;
  samples: number;
  undrawn: number;
  busy: string;
  longest: string;
  waited: string;
  paused: string;
}

export interface HeldCounter {
  name: string;
  source: number;
  track: number | null;
  unit: Scale;
  unit_name: string;
}

/** What `timeline/data.rs` writes. */
/** One of the recordings. */
export interface HeldSource {
  title: string;
  unix: boolean;
  missing: string;
  unplaced: number;
  details_left_out: number;
  /** Points of counters; the least and the greatest of each stretch of time are there. */
  points_left_out?: number;
}

export interface Held {
  start: string;
  length: string;
  bulk: string[];
  unix: boolean;
  all: boolean;
  lists: number;
  lists_left_out: number;
  texts: string[];
  names: string[];
  categories: string[];
  /** The category of each name; less than 0 for none. */
  kinds_of_work: number[];
  /** What functions are otherwise, and their shade. */
  colours: number[];
  sources: HeldSource[];
  tracks: HeldTrack[];
  kinds: number[];
  lanes: number[];
  levels: number[];
  counts: number[];
  values: string[];
  counters: HeldCounter[];
}

/** Items of a row drawn together where they are narrower than a pixel of `pixel` nanoseconds. */
export interface Level {
  pixel: number;
  count: number;
  /** Where each block begins, and the item that stands for it. */
  from: Uint32Array;
  pick: Uint32Array;
  filled: Uint8Array;
}

export interface Counter extends HeldCounter {
  key: string;
  count: number;
  th: Uint32Array;
  tl: Uint32Array;
  value: Float64Array;
  least: number;
  most: number;
}

export interface Columns {
  total: number;
  /** The first item of each row. */
  first: Uint32Array;
  sh: Uint32Array;
  sl: Uint32Array;
  eh: Uint32Array;
  el: Uint32Array;
  /** What an item's callees covered. */
  ch: Uint32Array;
  cl: Uint32Array;
  name: Uint32Array;
  list: Uint32Array;
  flags: Uint8Array;
  folded: Map<number, number>;
  levels: Level[][];
  counters: Counter[];
  /** The attributes of a list. */
  pairs: (list: number) => [key: string, value: string][];
}

/** Two halves as one exact number. */
export const exact = (h: number, l: number): bigint => (BigInt(h) << 32n) + BigInt(l);

/** The halves of an exact number. */
export const halves = (ns: bigint): { h: number; l: number } => ({
  h: Number(ns >> 32n),
  l: Number(ns & 0xffffffffn),
});

/** The bytes of texts in base64, each of which but the last is a multiple of four long. */
export function bytesOf(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  const room = texts.reduce((sum, text) => sum + (text.length / 4) * 3, 0);
  const bytes = new Uint8Array(room);
  let at = 0;
  for (const text of texts) {
    const rest = bytes.subarray(at) as Uint8Array & { setFromBase64?: (text: string) => { written: number } };
    if (rest.setFromBase64) at += rest.setFromBase64(text).written;
    else for (const letter of atob(text)) bytes[at++] = letter.charCodeAt(0);
  }
  return bytes.subarray(0, at);
}

/** Reads the columns; `bits` are the texts of the page's bytes. */
export function decode(data: Held, bits: readonly string[]): Columns {
  const bytes = bytesOf(bits);
  const numbers = new DataView(bytes.buffer);
  let at = 0;
  let high = 0;
  let low = 0;
  /** Reads a number of 64 bits into `high` and `low`: 28 bits, 28 bits, the rest. */
  function wide() {
    let byte = bytes[at++];
    let part = byte & 127;
    let shift = 7;
    high = 0;
    low = part;
    if (byte < 128) return;
    do {
      byte = bytes[at++];
      part |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127 && shift < 28);
    low = part;
    if (byte < 128) return;
    part = shift = 0;
    do {
      byte = bytes[at++];
      part |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127 && shift < 28);
    low = (low | (part << 28)) >>> 0;
    high = part >>> 4;
    if (byte < 128) return;
    part = shift = 0;
    do {
      byte = bytes[at++];
      part |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127);
    high = (high | (part << 24)) >>> 0;
  }
  /** Reads a number of up to 28 bits, as nearly all are; less than 0 for a larger one, which is not read. */
  function small(): number {
    const a = bytes[at];
    if (a < 128) {
      at++;
      return a;
    }
    const b = bytes[at + 1];
    if (b < 128) {
      at += 2;
      return (a & 127) | (b << 7);
    }
    const c = bytes[at + 2];
    if (c < 128) {
      at += 3;
      return (a & 127) | ((b & 127) << 7) | (c << 14);
    }
    const d = bytes[at + 3];
    if (d > 127) return -1;
    at += 4;
    return (a & 127) | ((b & 127) << 7) | ((c & 127) << 14) | (d << 21);
  }
  /** Reads a number below 2^53. */
  function number(): number {
    const value = small();
    if (value >= 0) return value;
    wide();
    return high * HALF + low;
  }
  let total = 0;
  const rows = data.counts.length;
  const first = new Uint32Array(rows + 1);
  data.counts.forEach((count, row) => {
    first[row] = total;
    total += count;
  });
  first[rows] = total;
  const column = () => new Uint32Array(total);
  const [sh, sl, eh, el, ch, cl, name, list] = Array.from({ length: 8 }, column);
  const flags = new Uint8Array(total);
  const folded = new Map<number, number>();
  const levels: Level[][] = [];
  for (let row = 0; row < rows; row++) {
    let h = 0;
    let l = 0;
    for (let i = first[row]; i < first[row + 1]; i++) {
      // A start is told from the end before it, an end from its start.
      for (let isEnd = 0; isEnd < 2; isEnd++) {
        const step = small();
        if (step >= 0) l += step;
        else {
          wide();
          l += low;
          h += high;
        }
        if (l >= HALF) {
          l -= HALF;
          h++;
        }
        if (isEnd) {
          eh[i] = h;
          el[i] = l;
        } else {
          sh[i] = h;
          sl[i] = l;
        }
      }
      name[i] = number();
      const flag = (flags[i] = bytes[at++]);
      if (flag & COVERED) {
        wide();
        ch[i] = high;
        cl[i] = low;
      }
      if (flag & DETAIL) list[i] = number();
      if (flag & FOLDED) folded.set(i, number());
    }
    const own: Level[] = [];
    for (let left = number(); left > 0; left--) {
      const pixel = 4 ** number();
      const count = number();
      const from = new Uint32Array(count + 1);
      const pick = new Uint32Array(count);
      const filled = new Uint8Array(count);
      let item = first[row];
      for (let block = 0; block < count; block++) {
        from[block] = item;
        item += number();
        pick[block] = from[block] + number();
        filled[block] = bytes[at++];
      }
      from[count] = item;
      own.push({ pixel, from, pick, filled, count });
    }
    levels.push(own);
  }
  const counters = data.counters.map((counter, at_): Counter => {
    const count = number();
    const th = new Uint32Array(count);
    const tl = new Uint32Array(count);
    const value = new Float64Array(count);
    let h = 0;
    let l = 0;
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      wide();
      l += low;
      h += high;
      if (l >= HALF) {
        l -= HALF;
        h++;
      }
      th[i] = h;
      tl[i] = l;
      const v = (value[i] = numbers.getFloat64(at, true));
      at += 8;
      if (v < least) least = v;
      if (v > most) most = v;
    }
    return { ...counter, key: `c${at_}`, count, th, tl, value, least, most };
  });
  // Where each list of attributes begins: most are never looked at.
  const lists = new Uint32Array(data.lists + 1);
  for (let i = 1; i <= data.lists; i++) {
    lists[i] = at;
    for (let left = 2 * number(); left > 0; left--) number();
  }
  const pairs = (which: number): [string, string][] => {
    if (!which) return [];
    at = lists[which];
    return Array.from({ length: number() }, () => [data.texts[number()], data.texts[number()]]);
  };
  return { total, first, sh, sl, eh, el, ch, cl, name, list, flags, folded, levels, counters, pairs };
}

/** Answers what a timeline asks from the columns that the page holds. */
export class HeldItems implements ItemSource {
  /** `ends` has the first item of a row, and the one behind its last. */
  constructor(
    private readonly columns: Pick<Columns, "levels" | "sh" | "sl" | "eh" | "el">,
    private readonly ends: (row: number) => readonly [first: number, last: number],
  ) {}

  items(row: number, from: Moment, to: Moment, pixel: number): Items {
    const { levels, sh, sl, eh, el } = this.columns;
    const [begin, behind] = this.ends(row);
    const level = levels[row].findLast((one) => one.pixel <= pixel) ?? null;
    const start = level ? (place: number) => level.from[place] : (place: number) => begin + place;
    const count = level ? level.count : behind - begin;
    const place = (isBefore: (place: number) => boolean) => {
      let low = 0;
      let high = count;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (isBefore(middle)) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const isEarlier = (h: number, l: number, than: Moment) => (h - than.h) * HALF + (l - than.l) < 0;
    const skipped = place((one) => isEarlier(eh[start(one + 1) - 1], el[start(one + 1) - 1], from));
    const end = place((one) => isEarlier(sh[start(one)], sl[start(one)], to));
    return {
      size: Math.max(end - skipped, 0),
      first: (at) => start(skipped + at),
      last: (at) => start(skipped + at + 1) - 1,
      shown: (at) => (level ? level.pick[skipped + at] : start(skipped + at)),
      filled: (at) => (level ? level.filled[skipped + at] / 255 : 1),
    };
  }
}
