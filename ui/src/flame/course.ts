/* When the nodes of a tree ran: what each came to by itself in equal stretches of time, by thread. */
import { numbers } from "../shared/numbers";
import { isLocalZone } from "../shared/zone";
import type { Held } from "./data";
import type { FlameModel } from "./model";
import { Growing, kinds, type Tree } from "./tree";

/** What `flame/data.rs` writes. */
export interface HeldCourse {
  /** Times are dates. */
  unix: boolean;
  /** Nanoseconds of a stretch, and the number of the first one since time zero. */
  step: number;
  first: string;
  threads: string[];
  stretch: string;
  thread: string;
  node: string;
  own: string;
  count: string;
}

/** Stretches from one to before another. */
export type Range = readonly [from: number, to: number];

/** A part of the sums that lies so far from the rest that it would leave the rest no room. */
const FAR = 0.02;

/** Each number as the sum of those up to it. */
function summed(differences: Float64Array): Int32Array {
  let sum = 0;
  return Int32Array.from(differences, (difference) => (sum += difference));
}

export class Course {
  /** Columns of values, in the order of time. */
  private readonly stretch: Int32Array;
  private readonly thread: Float64Array;
  private readonly node: Int32Array;
  private readonly own: Float64Array;
  private readonly count: Float64Array;
  readonly threads: string[];
  readonly step: number;
  readonly unix: boolean;
  /** How many stretches there are. */
  readonly size: number;
  private readonly first: bigint;

  /** `places` has the nodes that stand for those of functions, where frames are of something else. */
  constructor(held: HeldCourse, places: string) {
    this.threads = held.threads;
    this.step = held.step;
    this.unix = held.unix;
    this.first = BigInt(held.first);
    this.stretch = summed(numbers(held.stretch));
    this.thread = numbers(held.thread);
    const of = numbers(places);
    const node = summed(numbers(held.node));
    this.node = places ? node.map((one) => of[one]) : node;
    this.own = numbers(held.own);
    this.count = numbers(held.count);
    this.size = (this.stretch.at(-1) ?? -1) + 1;
  }

  /** Tells every value of a thread, or of all where it is less than 0. */
  each(thread: number, tell: (stretch: number, node: number, own: number, count: number) => void): void {
    for (let at = 0; at < this.stretch.length; at++) {
      if (thread >= 0 && this.thread[at] !== thread) continue;
      tell(this.stretch[at], this.node[at], this.own[at], this.count[at]);
    }
  }

  /** The stretches that show first: those that hold nearly everything, where the others are far away. */
  bulk(thread: number): Range {
    const sums = new Float64Array(this.size);
    let all = 0;
    this.each(thread, (stretch, _, own) => {
      sums[stretch] += Math.abs(own);
      all += Math.abs(own);
    });
    const from = (step: 1 | -1) => {
      let at = step > 0 ? 0 : this.size - 1;
      for (let sum = 0; sum + sums[at] <= all * FAR && at >= 0 && at < this.size; at += step) sum += sums[at];
      return at;
    };
    const [first, last] = [from(1), from(-1) + 1];
    return all > 0 && (last - first) * 3 < this.size ? [first, last] : [0, this.size];
  }

  /** The nanosecond a stretch begins with. */
  startOf(stretch: number): bigint {
    return (this.first + BigInt(stretch)) * BigInt(this.step);
  }

  /** The stretch that a nanosecond is in, or the end. */
  at(ns: bigint): number {
    return Math.min(Math.max(Number(ns / BigInt(this.step) - this.first), 0), this.size);
  }

  /** The tree of what ran in a range, on a thread. */
  tree(of: Tree, held: Held, kindsOf: Float64Array, range: Range, thread: number): Tree {
    const own = new Float64Array(of.size);
    const calls = new Float64Array(of.size);
    this.each(thread, (stretch, node, value, count) => {
      if (stretch < range[0] || stretch >= range[1]) return;
      own[node] += value;
      calls[node] += count;
    });
    const sum = own.slice();
    const ran = new Uint8Array(of.size);
    let total = 0;
    for (let node = of.size - 1; node >= 0; node--) {
      if (own[node] || calls[node]) ran[node] = 1;
      const p = of.parent[node];
      if (p < 0) total += sum[node];
      else {
        sum[p] += sum[node];
        if (ran[node]) ran[p] = 1;
      }
    }
    const growing = new Growing(held, total);
    const at = new Int32Array(of.size);
    for (let node = 0; node < of.size; node++) {
      if (!ran[node]) continue;
      const p = of.parent[node];
      at[node] = growing.child(p < 0 ? -1 : at[p], of.symbol[node], -1);
      growing.add(growing.sum, at[node], sum[node]);
      growing.add(growing.own, at[node], own[node]);
      growing.calls[at[node]] += calls[node];
    }
    return kinds(growing.flat(), kindsOf);
  }
}

/** Nanoseconds of a day. */
const DAY = 86_400_000_000_000n;

/** The moment a stretch begins with: the time of a day, with its date where there are several, or since the start; with as many digits as stretches need. */
export function moment(course: Course, stretch: number): string {
  const digits = Math.max(0, 9 - Math.floor(Math.log10(course.step)));
  const ns = course.unix ? course.startOf(stretch) : course.startOf(stretch) - course.startOf(0);
  const seconds = ns / 1_000_000_000n;
  const fraction = String(ns - seconds * 1_000_000_000n)
    .padStart(9, "0")
    .slice(0, digits);
  const rest = digits ? `.${fraction}` : "";
  if (!course.unix) return `+${seconds}${rest} s`;
  const utc = new Date(Number(seconds) * 1000);
  const date = isLocalZone() ? new Date(utc.getTime() - utc.getTimezoneOffset() * 60_000) : utc;
  if (Number.isNaN(date.getTime())) return `${seconds}${rest}`;
  const text = date.toISOString();
  if (BigInt(course.step) >= DAY) return text.slice(0, 10);
  const isOneDay = course.startOf(0) / DAY === course.startOf(course.size) / DAY;
  return `${isOneDay ? "" : `${text.slice(0, 10)} `}${text.slice(11, 19)}${rest}`;
}

/** Bars of a strip: what each kind of work came to in each. */
export interface Bars {
  size: number;
  kinds: [kind: number, sums: Float64Array][];
  most: number;
}

/** Sums stretches of a window to so many bars. */
export function bars(model: FlameModel, course: Course, [from, to]: Range, size: number): Bars {
  const kinds = new Map<number, Float64Array>();
  const all = new Float64Array(size);
  const scale = size / (to - from);
  course.each(model.seen.thread, (stretch, node, own) => {
    if (stretch < from || stretch >= to || own <= 0) return;
    const kind = model.kindOf(node, model.all);
    let sums = kinds.get(kind);
    if (!sums) {
      sums = new Float64Array(size);
      kinds.set(kind, sums);
    }
    const bar = Math.min(Math.floor((stretch - from) * scale), size - 1);
    sums[bar] += own;
    all[bar] += own;
  });
  return { size, kinds: [...kinds].sort((a, b) => a[0] - b[0]), most: all.reduce((a, b) => Math.max(a, b), 0) };
}
