/* What a timeline says in words: times, and details of a span. */
import { amount as amountOf, grouped } from "../shared/amount";
import { named } from "../shared/dom";
import { levels } from "../shared/names";
import { inZone } from "../shared/zone";
import type { Counter } from "./data";
import { exact, FAILED, FOLDED, LOSS, PARTIAL_END, PARTIAL_START, PAUSE, SAMPLE, SPAN, WAIT } from "./data";
import type { TimelineModel } from "./model";

const SECOND = 1_000_000_000n;
const WORDS: Record<number, string> = {
  [SPAN]: "span",
  [WAIT]: "wait",
  [PAUSE]: "pause",
  [LOSS]: "lost data",
  [SAMPLE]: "sample",
};

/** What the length of several that are drawn as one is. */
const FROM_FIRST = "from first to last";
/** Recordings of which each is said what its rows lack. */
const MOST_LACKING = 3;

export const amount = (ns: bigint): string => amountOf("ns", Number(ns));
export const commas = (ns: bigint): string => `${ns.toString().replace(/\B(?=(\d{3})+$)/g, ",")} ns`;
/** Three digits, and the exact number where that says more. */
const both = (ns: bigint) => (ns < 1000n ? commas(ns) : `${amount(ns)} (${commas(ns)})`);

function iso(ns: bigint): string {
  let seconds = ns / SECOND;
  let rest = ns % SECOND;
  if (rest < 0n) {
    rest += SECOND;
    seconds -= 1n;
  }
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return `${ns} ns`;
  return `${date.toISOString().slice(0, -5)}.${String(rest).padStart(9, "0")}Z`;
}

/** A time since the start of a recording of `length`, with as many digits as a step of `step` needs. */
export function clock(ns: bigint, step: bigint, length: bigint): string {
  const minus = ns < 0n ? "−" : "";
  const at = ns < 0n ? -ns : ns;
  const units: [bigint, string][] = [
    [SECOND, "s"],
    [1_000_000n, "ms"],
    [1_000n, "µs"],
    [1n, "ns"],
  ];
  const [unit, word] = units.find(([unit]) => length >= unit) ?? units[3];
  let digits = 0;
  while (unit / 10n ** BigInt(digits) > step) digits++;
  const part = String(at % unit)
    .padStart(String(unit).length - 1, "0")
    .slice(0, digits);
  const decimals = digits ? `.${part}` : "";
  if (length < 120n * SECOND) return `${minus}${at / unit}${decimals} ${word}`;
  const seconds = at / SECOND;
  const two = (n: bigint) => String(n).padStart(2, "0");
  const hours = seconds / 3600n;
  const minutes = (seconds / 60n) % 60n;
  return `${minus}${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60n)}${decimals}`;
}

/** Says what items of a timeline are. */
export class Words {
  private readonly known: string[][] = [];
  /** Dates are in the reader's zone. */
  isLocal = false;

  constructor(private readonly model: TimelineModel) {}

  clock(ns: bigint, step: bigint): string {
    return clock(ns, step, this.model.length);
  }

  /** A date: UTC, as the page was mailed, or in the reader's zone. */
  date(ns: bigint, digits = 9): string {
    const text = iso(ns).replace(/\.(\d+)Z$/, (_, all: string) => `.${all.slice(0, digits)}Z`);
    return this.isLocal ? inZone(text) : text;
  }

  private when(item: number): string {
    const { model } = this;
    const source = model.data.sources[model.trackOf(item).source];
    const since = `+${this.clock(model.startOf(item), 1n)}`;
    if (!source.unix) return `${since}, from the start of ${source.title}`;
    return `${this.date(model.start + model.startOf(item))} (${since})`;
  }

  /** Returns true of several that are drawn as one: what is known is from when to when they reach, not how long each took. */
  isTogether(item: number): boolean {
    return (this.model.t.flags[item] & FOLDED) !== 0;
  }

  /** What a span took by itself; none for what is no span, or several. */
  own(item: number): bigint | null {
    const { model } = this;
    const { t, data } = model;
    if (data.kinds[model.rowOf(item)] !== SPAN || this.isTogether(item)) return null;
    return model.lengthOf(item) - exact(t.ch[item], t.cl[item]);
  }

  /** The forms of an item's name, the longest first; each ends with the last one. */
  forms(item: number): readonly string[] {
    const { t, data } = this.model;
    const name = t.name[item];
    this.known[name] ??= levels(data.names[name]);
    const folded = t.folded.get(item);
    if (folded === undefined) return this.known[name];
    const count = `${grouped(folded)} short ones`;
    return [`${count}, the longest ${this.known[name].at(-1)}`, count];
  }

  full(item: number): string {
    const { t, data } = this.model;
    return this.isTogether(item) ? this.forms(item)[0] : data.names[t.name[item]];
  }

  /** Returns true unless it is an event without an end or a sample, which took no time. */
  private isLong(item: number): boolean {
    const { model } = this;
    return model.data.kinds[model.rowOf(item)] === SPAN || model.lengthOf(item) > 0n;
  }

  /** What is said of an item. */
  tell(item: number): [label: string, value: string][] {
    const { model } = this;
    const flags = model.t.flags[item];
    const length = model.lengthOf(item);
    const row = model.rowOf(item);
    const pairs: [string, string][] = [["kind", WORDS[model.data.kinds[row]] ?? "event"]];
    if (model.data.values[row]) pairs.push(["value", model.data.values[row]]);
    pairs.push(["start", `+${this.clock(model.startOf(item), 1n)}`]);
    if (this.isLong(item)) pairs.push([this.isTogether(item) ? FROM_FIRST : "duration", amount(length)]);
    const self = this.own(item);
    if (self !== null && self !== length) pairs.push(["self", amount(self)]);
    if (flags & PARTIAL_START) pairs.push(["start", "was not recorded"]);
    if (flags & PARTIAL_END) pairs.push(["end", "was not recorded"]);
    if (flags & FAILED) pairs.push(["status", "failed"]);
    pairs.push(["track", model.trackOf(item).name]);
    return pairs;
  }

  /** One line about an item. */
  describe(item: number): string {
    const { model } = this;
    const flags = model.t.flags[item];
    const length = model.lengthOf(item);
    const together = this.isTogether(item) ? ` ${FROM_FIRST}` : "";
    const parts = this.isLong(item) ? [amount(length) + together] : [];
    const self = this.own(item);
    if (self !== null && self !== length) parts.push(`self ${amount(self)}`);
    if (flags & PARTIAL_START) parts.push("its start was not recorded");
    if (flags & PARTIAL_END) parts.push("its end was not recorded");
    if (flags & FAILED) parts.push("failed");
    const row = model.rowOf(item);
    const value = model.data.values[row];
    const kind = WORDS[model.data.kinds[row]] ?? "event";
    if (kind !== "span") parts.unshift(value ? `${kind} (${value})` : kind);
    return parts.join(" · ");
  }

  details(item: number): (string | HTMLElement)[] {
    const { model } = this;
    const { t } = model;
    const list = document.createElement("dl");
    const add = (key: string, value: string) => {
      const pair = document.createElement("div");
      pair.className = key.length + value.length > 48 ? "long" : "";
      pair.append(named("dt", key), named("dd", value));
      list.append(pair);
    };
    const self = this.own(item);
    const track = model.trackOf(item);
    add("start", this.when(item));
    if (this.isLong(item)) add(this.isTogether(item) ? FROM_FIRST : "duration", both(model.lengthOf(item)));
    if (self !== null) add("self", both(self));
    add("track", track.process ? `${track.name}, ${track.process}` : track.name);
    if (this.isTogether(item)) add("left out", "shorter than what this page holds one by one");
    for (const [key, value] of t.pairs(t.list[item])) add(key, value);
    return [named("b", this.full(item)), ` ${this.describe(item)}`, list];
  }

  /** What the page does not hold or draw, in sentences. */
  missing(): string {
    const { data } = this.model;
    const lacking = data.sources.filter((one) => one.missing);
    const sentences = lacking.slice(0, MOST_LACKING).map((one) => `${one.title}: ${one.missing}.`);
    const others = lacking.length - sentences.length;
    if (others) sentences.push(`${grouped(others)} more recordings have samples without a time.`);
    const shown = data.sources.filter((_, number) => this.model.layout.isShown(number));
    if (data.sources.length > 1 && shown.some((one) => !one.unix)) {
      sentences.push("Recordings whose clock has no known origin begin at the left, each at its own start.");
    }
    const empty = data.sources.length - shown.length;
    if (empty && shown.length)
      sentences.push(`${grouped(empty)} of ${grouped(data.sources.length)} recordings have nothing to show.`);
    if (data.bulk.length) {
      const most = amount(BigInt(data.bulk[1]) - BigInt(data.bulk[0]));
      sentences.push(`Nearly everything lies in the ${most} that show first; a few times are far away.`);
    }
    const unplaced = data.sources.reduce((sum, one) => sum + one.unplaced, 0);
    if (unplaced) sentences.push(`${grouped(unplaced)} places of damage without a time.`);
    const lists = data.sources.reduce((sum, one) => sum + one.details_left_out, data.lists_left_out);
    if (lists) sentences.push(`Attributes of ${grouped(lists)} spans and events are left out, those of the shortest.`);
    const points = data.sources.reduce((sum, one) => sum + (one.points_left_out ?? 0), 0);
    if (points) {
      const kept = "the least and the greatest of each stretch of time are drawn";
      sentences.push(`${grouped(points)} points of counters are left out: ${kept}.`);
    }
    const undrawn = data.tracks.reduce((sum, track) => sum + track.undrawn, 0);
    if (undrawn) {
      const why = "more lanes or levels than a track shows";
      sentences.push(`${grouped(undrawn)} spans and events are counted and not drawn: ${why}.`);
    }
    if (!data.all) {
      sentences.push("The shortest spans and events are drawn together; counts and totals of tracks are those of all.");
    }
    return sentences.join(" ");
  }
}

/** What a counter's value says. */
export function counterValue(counter: Counter, value: number): string {
  if (Number.isInteger(value) || counter.unit !== "count") return amountOf(counter.unit, value, counter.unit_name);
  return `${+value.toPrecision(3)} ${counter.unit_name}`.trim();
}

/** What the strip shows, and how much at most: of what is drawn together it is not known how much of its time was filled. */
export function atWork(model: TimelineModel, most: number): string {
  const { kinds, all } = model.data;
  if (!kinds.some((kind) => kind === SPAN)) return "samples over time";
  return all ? `at most ${grouped(Math.max(1, Math.ceil(most - 1e-6)))} at work` : "tracks at work";
}
