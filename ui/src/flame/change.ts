/* A difference of two recordings: the same measure for colour, percent and table, as `flame/change.rs` and `diff` have it. */
import { amount, type Scale } from "../shared/amount";
import { numbers } from "../shared/numbers";
import type { Held, HeldComparison } from "./data";

/** Percent of the whole before at which steps begin. */
const STEPS = [0.1, 0.5, 2];
export const SAME = 3;

/** The colour of a change of so many percent of the whole: 3, above for growth, below for the opposite. */
export function step(percent: number): number {
  const distance = STEPS.filter((from) => Math.abs(percent) >= from).length;
  return percent < 0 ? SAME - distance : SAME + distance;
}

export interface Side {
  own: Float64Array;
  total: Float64Array;
  count: Float64Array;
}

const side = (held: HeldComparison["before"]): Side => ({
  own: numbers(held.own),
  total: numbers(held.total),
  count: numbers(held.count),
});

/** Both recordings, node by node and function by function. */
export class Comparison {
  readonly was: Float64Array;
  readonly wasOwn: Float64Array;
  readonly symbols: Float64Array;
  readonly before: Side;
  readonly after: Side;
  readonly of: HeldComparison;

  constructor(private readonly held: Held) {
    this.of = held.compared as HeldComparison;
    this.was = numbers(held.was ?? "");
    this.wasOwn = numbers(held.was_own ?? "");
    this.symbols = numbers(this.of.symbols);
    this.before = side(this.of.before);
    this.after = side(this.of.after);
  }

  /** By how much a value grew from the first recording to the second, in the scale of the picture. */
  grew(now: number, other: number): number {
    return this.of.word === "before" ? now - other : other - now;
  }

  /** What percent of the whole before a change is. */
  percent(grew: number): number {
    if (!grew) return 0;
    return this.of.whole ? (grew * 100) / Math.abs(this.of.whole) : Math.sign(grew) * Number.POSITIVE_INFINITY;
  }

  /** A value divided as asked, as `diff` prints it. */
  shown(value: number): string {
    return shown(this.held.unit, this.held.unit_name, this.of.per, value);
  }

  ofBefore(value: number): number {
    return value * this.of.factors[0];
  }

  ofAfter(value: number): number {
    return value * this.of.factors[1];
  }
}

/** Writes a value that was divided by `per`, as `diff` does. */
export function shown(unit: Scale, name: string, per: HeldComparison["per"], value: number): string {
  if (per === "total") return `${value.toFixed(2)} %`;
  const suffix = { recording: "", second: "/s", call: " each" }[per];
  const isSmall = value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value);
  const rounded = Math.sign(value) * Math.round(Math.abs(value));
  const small = { ns: " ns", bytes: " B", count: "" }[unit];
  return (isSmall ? value.toFixed(2) + small : amount(unit, rounded, name)) + suffix;
}

/** A change with its sign. */
export const signed = (value: number, text: string): string => (value > 0 ? `+${text}` : text);

/** A change as an amount with its sign; none needs no unit. */
export const changed = (value: number, text: string): string => (value ? signed(value, text) : "0");
