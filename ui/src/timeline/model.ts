/* What is seen of a timeline: the window, search, selection, measure. Its lines are laid out beside. No element and no canvas. */
import { grouped } from "../shared/amount";
import { kindWord } from "../shared/kinds";
import { matcher } from "../shared/search";
import type { Items, Moment } from "../shared/source";
import { type Columns, type Counter, decode, exact, HALF, type Held, halves, LOSS, PAUSE, SPAN } from "./data";
import { type Line, type Track, TrackLayout } from "./layout";
import { type TileData, TiledItems } from "./tiles";
import { kindsOfWork } from "./work";

export const HEAD = 30;
/** No kind of work. */
export const NO_KIND = -9;
const STEPS = [60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map((seconds) => seconds * 1e9);

export class TimelineModel {
  readonly t: Columns;
  readonly source: TiledItems;
  /** The kind of work of each item. */
  work: Int16Array;
  readonly start: bigint;
  readonly length: bigint;
  readonly longest: number;
  readonly tracks: Track[];
  /** The lines below each other. */
  readonly layout: TrackLayout;
  private readonly trackAt: Track[] = [];
  /** Rows of pauses and losses of each recording. */
  readonly bands: number[][] = [];
  /** The window: where it begins and how many nanoseconds it shows. */
  readonly view = { h: 0, l: 0, span: 1 };
  left = 210;
  wide = 1;
  high = 1;
  selected = -1;
  hovered = -1;
  /** The kind of work that stands out. */
  lit = NO_KIND;
  /** Key of the track that was looked at last. */
  track = "";
  words = "";
  /** How many matches there are before each item. */
  hits: Uint32Array | null = null;
  measured: Moment[] = [];

  constructor(
    readonly data: Held,
    bits: readonly string[],
  ) {
    this.t = decode(data, bits);
    this.source = new TiledItems(this.t, data);
    this.work = kindsOfWork(this.t, data, this.source);
    this.start = BigInt(data.start);
    this.length = BigInt(data.length);
    this.longest = Math.max(Number(this.length), 1);
    let first = 0;
    this.tracks = data.tracks.map((held, number) => {
      const track = { ...held, key: `t${number}`, number, first };
      for (let row = first; row < first + held.rows; row++) {
        this.trackAt[row] = track;
        if (data.kinds[row] !== PAUSE && data.kinds[row] !== LOSS) continue;
        this.bands[held.source] ??= [];
        this.bands[held.source].push(row);
      }
      first += held.rows;
      return track;
    });
    this.layout = new TrackLayout(data, this.t, this.tracks);
  }

  rowOf(item: number): number {
    if (item >= this.t.total) return this.source.rowOf(item);
    let low = 0;
    let high = this.data.counts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.t.first[middle + 1] <= item) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  trackOf(item: number): Track {
    return this.trackAt[this.rowOf(item)];
  }

  startOf(item: number): bigint {
    return exact(this.t.sh[item], this.t.sl[item]);
  }

  endOf(item: number): bigint {
    return exact(this.t.eh[item], this.t.el[item]);
  }

  lengthOf(item: number): bigint {
    return this.endOf(item) - this.startOf(item);
  }

  /** What an address calls the kind that stands out. */
  get litWord(): string {
    return this.lit === NO_KIND ? "" : kindWord(this.lit, this.data.categories);
  }

  set litWord(word: string) {
    const kind = this.kinds().find(([kind]) => kindWord(kind, this.data.categories) === word);
    this.lit = kind ? kind[0] : NO_KIND;
  }

  /** All items of a row, where a pixel is so many nanoseconds. */
  whole(row: number, pixel: number): Items {
    return this.source.items(row, halves(0n), halves(this.length + 1n), pixel);
  }

  /** Kinds of work with what their spans took by themselves, the largest first. */
  kinds(): [kind: number, own: number][] {
    const { t, data, work } = this;
    const sums = new Map<number, number>();
    for (let row = 0; row < data.counts.length; row++) {
      if (data.kinds[row] !== SPAN) continue;
      const last = t.first[row + 1];
      for (let item = t.first[row]; item < last; item++) {
        const length = (t.eh[item] - t.sh[item]) * HALF + (t.el[item] - t.sl[item]);
        const own = length - (t.ch[item] * HALF + t.cl[item]);
        sums.set(work[item], (sums.get(work[item]) ?? 0) + own);
      }
    }
    return [...sums].filter(([, own]) => own > 0).sort((a, b) => b[1] - a[1]);
  }

  /* The window. */

  get plot(): number {
    return Math.max(1, this.wide - this.left);
  }

  get perPixel(): number {
    return this.view.span / this.plot;
  }

  /** Pixels from the left edge of the plot. */
  place(h: number, l: number): number {
    return ((h - this.view.h) * HALF + (l - this.view.l)) / this.perPixel;
  }

  private bounded(span: number): number {
    return Math.min(Math.max(span, 4), this.longest * 1.1 + 10);
  }

  normalise(): void {
    const v = this.view;
    v.span = this.bounded(v.span);
    const at = v.h * HALF + v.l;
    const least = -v.span / 2;
    const most = this.longest - v.span / 2;
    if (at < least || at > most) {
      v.h = 0;
      v.l = at < least ? least : most;
    }
    const carry = Math.floor(v.l / HALF);
    v.h += carry;
    v.l -= carry * HALF;
  }

  zoom(factor: number, at: number): void {
    const before = this.view.span;
    this.view.span = this.bounded(before * factor);
    this.view.l += ((before - this.view.span) * at) / this.plot;
  }

  /** Where the window begins and how much it shows, as shares of the whole. */
  share(): [start: number, part: number] {
    const start = Math.min(Math.max(0, (this.view.h * HALF + this.view.l) / this.longest), 1);
    return [start, Math.min(this.view.span / this.longest, 1 - start)];
  }

  /** The nanosecond at the left edge. */
  leftEdge(): bigint {
    return (BigInt(this.view.h) << 32n) + BigInt(Math.floor(this.view.l));
  }

  /** The nanosecond under a pixel of the plot. */
  under(x: number): bigint {
    return this.leftEdge() + BigInt(Math.floor(this.view.l - Math.floor(this.view.l) + x * this.perPixel));
  }

  /** Where marks of the axis stand, and the step between them. */
  ticks(): { step: bigint; marks: { x: number; at: bigint }[] } {
    const wanted = this.perPixel * (this.length < 120_000_000_000n ? 130 : 150);
    let step = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
    step *= [1, 2, 5, 10].find((n) => step * n >= wanted) ?? 10;
    if (step > 3e10) step = STEPS.find((one) => one >= wanted) ?? 864e11 * Math.ceil(wanted / 864e11);
    const size = BigInt(Math.max(1, Math.round(step)));
    const marks: { x: number; at: bigint }[] = [];
    for (let at = (this.leftEdge() / size) * size; marks.length < 200; at += size) {
      const { h, l } = halves(at);
      const x = this.place(h, l);
      if (x > this.plot) break;
      marks.push({ x, at });
    }
    return { step: size, marks };
  }

  /** Where an item is drawn among lines. */
  spot(item: number, list: Line[]): { top: number; height: number } | null {
    const row = this.rowOf(item);
    const { key } = this.trackAt[row];
    const line = list.find((line) => line.key === key);
    const place = line?.rows.find((one) => one.row === row);
    return line && place ? { top: line.top + place.top, height: place.height } : null;
  }

  /** What lies under a point; `scroll` is how far the lines are moved up. */
  at(x: number, y: number, scroll: number): { line?: Line; item: number } {
    if (y < HEAD) return { item: -1 };
    const { lines, pinnedLines, pinnedHeight } = this.layout;
    const isPinned = y < HEAD + pinnedHeight;
    const down = y - HEAD + (isPinned ? 0 : scroll - pinnedHeight);
    const list = isPinned ? pinnedLines : lines;
    const line = list.find((one) => down >= one.top && down < one.top + one.height);
    if (!line) return { item: -1 };
    const place = line.rows.find((one) => down - line.top >= one.top && down - line.top < one.top + one.height);
    return { line, item: place && x >= this.left ? this.near(place.row, x - this.left) : -1 };
  }

  /** The item of a row at a pixel, or the nearest within three. */
  private near(row: number, x: number): number {
    const { t } = this;
    const moment = (x: number) => ({ h: this.view.h, l: this.view.l + x * this.perPixel });
    const items = this.source.items(row, moment(x - 3), moment(x + 3), 0);
    let best = -1;
    let distance = 3;
    for (let at = 0; at < items.size; at++) {
      const item = items.first(at);
      const from = this.place(t.sh[item], t.sl[item]);
      const to = this.place(t.eh[item], t.el[item]);
      const far = x < from ? from - x : x > to ? x - to : 0;
      if (far < distance || (far === 0 && distance > 0)) {
        best = item;
        distance = far;
      }
      if (far === 0) break;
    }
    return best;
  }

  /** The caller, the first callee or a neighbour in the row of the selection; less than 0 for none. */
  walk(key: string): number {
    const { data, selected: item } = this;
    const row = this.rowOf(item);
    const track = this.trackAt[row];
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const to = item + (key === "ArrowLeft" ? -1 : 1);
      const [first, last] = this.source.range(row, item);
      return to >= first && to < last ? to : -1;
    }
    const step = key === "ArrowUp" ? -1 : 1;
    const from = this.startOf(item);
    const to = this.endOf(item);
    for (let other = track.first; other < track.first + track.rows; other++) {
      const isSame = data.kinds[other] === data.kinds[row] && data.lanes[other] === data.lanes[row];
      if (!isSame || data.levels[other] !== data.levels[row] + step) continue;
      let [low, high] = this.source.range(other, item);
      const behind = high;
      while (low < high) {
        const middle = (low + high) >> 1;
        const end = this.endOf(middle);
        if (end <= from && end !== this.startOf(middle)) low = middle + 1;
        else high = middle;
      }
      if (low >= behind) continue;
      const start = this.startOf(low);
      if (step < 0 ? start <= from : start < to || start === from) return low;
    }
    return -1;
  }

  /* Search: names, and values of attributes. */

  find(words: string): string {
    const { data, t } = this;
    this.words = words;
    this.hits = null;
    if (!words) return "";
    const test = matcher(words);
    const names = Uint8Array.from(data.names, (name) => (test(name) ? 1 : 0));
    const texts = data.texts.map(test);
    const lists = new Uint8Array(data.lists + 1);
    if (texts.includes(true)) {
      for (let list = 1; list <= data.lists; list++)
        lists[list] = t.pairs(list).some(([, value]) => test(value)) ? 1 : 0;
    }
    // Those of a tile stand out as well; what is counted is of the page.
    const size = t.name.length;
    const hits = new Uint32Array(size + 1);
    for (let item = 0; item < size; item++) hits[item + 1] = hits[item] + (names[t.name[item]] | lists[t.list[item]]);
    this.hits = hits;
    const count = hits[t.total];
    // What is drawn together has one name.
    const where = data.all ? "" : " among what is drawn one by one";
    return (count ? `${grouped(count)} ${count === 1 ? "match" : "matches"}` : "no match") + where;
  }

  /** Takes over what the collector says of a stretch, which is in nanoseconds from the start of the page. */
  take(tile: TileData, from: bigint, to: bigint): void {
    if (this.selected >= this.t.total) this.selected = -1;
    this.hovered = -1;
    this.source.take(tile, from, to);
    this.work = kindsOfWork(this.t, this.data, this.source);
    if (this.words) this.find(this.words);
  }

  get hasMatch(): boolean {
    return !!this.hits && this.hits[this.t.total] > 0;
  }

  /** The match after or before the selection by time, around the end; equal times by their place. */
  match(forward: boolean): number {
    const { t, hits, selected } = this;
    if (!hits || !this.hasMatch) return -1;
    const sign = forward ? 1 : -1;
    const after = (a: number, b: number) => sign * (t.sh[a] - t.sh[b] || t.sl[a] - t.sl[b] || a - b);
    let best = -1;
    let outermost = -1;
    for (let item = 0; item < t.total; item++) {
      if (hits[item + 1] === hits[item]) continue;
      if (outermost < 0 || after(item, outermost) < 0) outermost = item;
      if (selected >= 0 && after(item, selected) > 0 && (best < 0 || after(item, best) < 0)) best = item;
    }
    return best < 0 ? outermost : best;
  }

  /** The moment at a pixel of the plot: an end of what is hovered, where one is near. */
  snap(x: number): Moment {
    const { t, hovered } = this;
    let best: Moment | null = null;
    let distance = 6;
    const see = (h: number, l: number) => {
      const far = Math.abs(this.place(h, l) - x);
      if (far >= distance) return;
      distance = far;
      best = { h, l };
    };
    if (hovered >= 0) {
      see(t.sh[hovered], t.sl[hovered]);
      see(t.eh[hovered], t.el[hovered]);
    }
    return best ?? halves(this.under(x));
  }

  /** Nanoseconds between the two points that were measured. */
  distance(): bigint {
    const [a, b] = this.measured.map(({ h, l }) => exact(h, l));
    return a < b ? b - a : a - b;
  }

  /** The value that a counter had at a pixel of the plot; none before its first. */
  reading(counter: Counter, x: number): number | null {
    let low = 0;
    let high = counter.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.place(counter.th[middle], counter.tl[middle]) <= x) low = middle + 1;
      else high = middle;
    }
    return low ? counter.value[low - 1] : null;
  }
}

/** The next round value for the top of an axis: 1, 2 or 5 times a power of ten, of bytes a power of two. */
export function roundUp(value: number, unit: Counter["unit"]): number {
  if (value <= 0) return 1;
  if (unit === "bytes") return 2 ** Math.ceil(Math.log2(value) - 1e-9);
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value * (1 - 1e-9)) ?? 10);
}
