/*
 * Draws a timeline. Rows go as pixels into an image, column by column, so that a frame costs the same however many
 * spans there are; text, bands and lines are drawn over it.
 */
import { kindToken } from "../shared/kinds";
import { Pen } from "../shared/pen";
import { colours, ratio } from "../shared/theme";
import {
  type Counter,
  EVENT,
  FAILED,
  FOLDED,
  LOSS,
  PARTIAL_END,
  PARTIAL_START,
  PAUSE,
  SAMPLE,
  SPAN,
  WAIT,
} from "./data";
import type { Line } from "./layout";
import { HEAD, NO_KIND, roundUp, type TimelineModel } from "./model";
import { amount, commas, counterValue, type Words } from "./words";
import { kindOfName } from "./work";

const COLOURS = [
  "paper",
  "plot",
  "ink",
  "ink-2",
  "ink-3",
  "line",
  "accent",
  "bad",
  "match",
  "on-match",
  "on-k",
  "pause",
  "wait",
] as const;
type Named = (typeof COLOURS)[number];

const pack = (r: number, g: number, b: number) => (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;

function mix(under: number, over: number, part: number): number {
  if (part >= 1) return over;
  const channel = (shift: number) => {
    const a = (under >>> shift) & 255;
    const b = (over >>> shift) & 255;
    return (a + (b - a) * part) & 255;
  };
  return pack(channel(0), channel(8), channel(16));
}

/** A text of an item: where its box is. */
interface Text {
  item: number;
  a: number;
  b: number;
  y: number;
  height: number;
  found: boolean;
  kind: number;
}
/** What rows hold, by their kinds. */
const ROW_WORDS: Record<number, string> = { [WAIT]: "waits", [EVENT]: "events", [SAMPLE]: "samples" };

type Box = (item: number, a: number, b: number, found: boolean) => void;

export class TimelinePainter {
  private readonly context: CanvasRenderingContext2D;
  private pixelRatio = 1;
  private wide = 0;
  private high = 0;
  private left = 0;
  private plot = 1;
  /** Pixels of the canvas for each nanosecond. */
  private scale = 1;
  private pen: Pen;
  private image: ImageData;
  private pixels = new Uint32Array(1);
  private line = new Uint32Array(1);
  private colour = new Uint32Array(1);
  private cover = new Float32Array(1);
  private strength = new Float32Array(1);
  /** Colours of names, and of kinds of work. */
  private palette = new Uint32Array(1);
  private kinds = new Uint32Array(1);
  private strong = new Uint32Array(1);
  private plain = {} as Record<Named, string>;
  private packed = {} as Record<Named, number>;
  private hatch: CanvasPattern | string = "";
  /** Pixels between which lines are drawn now. */
  private clip: [top: number, bottom: number] = [0, 0];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly part: HTMLElement,
    private readonly model: TimelineModel,
    private readonly words: Words,
  ) {
    this.context = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    this.image = this.context.createImageData(1, 1);
    this.pen = new Pen(this.context);
  }

  /** Takes the colours of the theme, as words for the canvas and as numbers for the image. */
  dress(): void {
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const number = (word: string) => {
      if (!probe) return 0;
      probe.fillStyle = word;
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
      return pack(r, g, b);
    };
    const { data } = this.model;
    const { categories } = data;
    const tokens = data.names.map((_, name) => kindToken(kindOfName(data, name), categories, data.colours[name]));
    const inherited = categories.map((_, kind) => kindToken(kind, categories));
    const used = new Set([...tokens, ...inherited]);
    const of: Record<string, string> = colours<string>([...COLOURS, ...used], this.part);
    for (const name of COLOURS) {
      this.plain[name] = of[name];
      this.packed[name] = number(of[name]);
    }
    const known = new Map([...used].map((token) => [token, number(of[token])]));
    this.palette = Uint32Array.from(tokens, (token) => known.get(token) ?? 0);
    this.kinds = Uint32Array.from(inherited, (token) => known.get(token) ?? 0);
    // What is one pixel wide must be seen: a text's colours are too pale for it.
    this.strong = this.palette.map((one) => mix(one, this.packed.ink, 0.4));
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const stripes = tile.getContext("2d");
    if (!stripes) return;
    stripes.strokeStyle = this.plain.bad;
    stripes.lineWidth = 1.5;
    for (const x of [-6, 0, 6]) {
      stripes.moveTo(x, 6);
      stripes.lineTo(x + 6, 0);
    }
    stripes.stroke();
    this.hatch = this.context.createPattern(tile, "repeat") ?? this.plain.bad;
  }

  resize(): void {
    const { model, canvas } = this;
    this.pixelRatio = ratio();
    this.pen = new Pen(this.context, this.pixelRatio);
    this.wide = canvas.width = Math.max(1, this.px(model.wide));
    this.high = canvas.height = Math.max(1, this.px(model.high));
    canvas.style.width = `${model.wide}px`;
    canvas.style.height = `${model.high}px`;
    this.left = this.px(model.left);
    this.plot = Math.max(1, this.wide - this.left);
    this.image = this.context.createImageData(this.wide, this.high);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.line = new Uint32Array(this.plot);
    this.colour = new Uint32Array(this.plot);
    this.cover = new Float32Array(this.plot);
    this.strength = new Float32Array(this.plot);
  }

  private px(value: number): number {
    return Math.round(value * this.pixelRatio);
  }

  /** Nanoseconds from the left edge of the window. */
  private since(h: number, l: number): number {
    const { view } = this.model;
    return (h - view.h) * 4294967296 + (l - view.l);
  }

  private place(h: number, l: number): number {
    return this.since(h, l) * this.scale;
  }

  private paintwork(kind: number, item: number): number {
    const { packed } = this;
    const { t, work } = this.model;
    if (kind === PAUSE) return packed.pause;
    if (kind === LOSS) return packed.bad;
    if (kind === WAIT) return packed.wait;
    if (kind !== SPAN) return this.strong[t.name[item]];
    return work[item] < 0 ? this.palette[t.name[item]] : this.kinds[work[item]];
  }

  /** Paints a row into `colour` and `cover`; tells `box` about items that are wide enough to say more. */
  private paint(row: number, box: Box | null): void {
    const { cover, strength, colour, plot, scale, packed } = this;
    const { t, data, hits, lit, work } = this.model;
    cover.fill(0);
    strength.fill(0);
    const kind = data.kinds[row];
    const least = kind === SPAN ? 0.3 : 0.9;
    const { view } = this.model;
    const items = this.model.source.items(row, view, { h: view.h, l: view.l + view.span }, 1 / scale);
    for (let at = 0; at < items.size; at++) {
      const item = items.first(at);
      const end = items.last(at);
      const x = this.place(t.sh[item], t.sl[item]);
      const to = this.place(t.eh[end], t.el[end]);
      const shown = items.shown(at);
      const found = !!hits && hits[end + 1] > hits[item];
      let paintwork = found ? packed.match : this.paintwork(kind, shown);
      const isOther = lit !== NO_KIND && work[shown] !== lit;
      if ((hits && !found) || (isOther && !found)) paintwork = mix(packed.plot, paintwork, 0.35);
      if (to - x >= 2) {
        const a = Math.max(0, Math.round(x));
        const b = Math.min(plot, Math.max(Math.round(to), a + 1));
        if (b <= a) continue;
        colour.fill(paintwork, a, b);
        cover.fill(t.flags[shown] & FOLDED ? 0.6 : 1, a, b);
        strength.fill(Number.POSITIVE_INFINITY, a, b);
        if (b - a > 3 && b < plot) cover[b - 1] = 0;
        if (box && b - a > 5) box(shown, a, b, found);
        continue;
      }
      if (t.flags[shown] & FAILED && !found) paintwork = packed.bad;
      const filled = items.filled(at);
      for (let c = Math.max(0, Math.floor(x)); c < plot && c <= to; c++) {
        const part = Math.max(0, Math.min(to, c + 1) - Math.max(x, c)) * filled;
        cover[c] = found ? 1 : Math.min(1, Math.max(cover[c] + part, least));
        const weight = found ? Number.POSITIVE_INFINITY : part + 1e-6;
        if (weight <= strength[c]) continue;
        strength[c] = weight;
        colour[c] = paintwork;
      }
    }
    if (kind === SPAN) this.strengthen();
  }

  /** Makes spans that stand alone easier to see. */
  private strengthen(): void {
    const { cover, strength, colour, plot, packed } = this;
    for (let c = 0; c < plot; c++) {
      const isAlone = !(c > 0 && cover[c - 1]) && !(c + 1 < plot && cover[c + 1]);
      if (!cover[c] || strength[c] === Number.POSITIVE_INFINITY || !isAlone) continue;
      cover[c] = Math.max(cover[c], 0.8);
      colour[c] = mix(colour[c], packed.ink, 0.4);
    }
  }

  private copy(top: number, height: number): void {
    const { line, cover, colour, packed, clip } = this;
    for (let c = 0; c < this.plot; c++) line[c] = cover[c] > 0 ? mix(packed.plot, colour[c], cover[c]) : packed.plot;
    for (let y = Math.max(top, clip[0]); y < Math.min(top + height, clip[1]); y++) {
      this.pixels.set(line, y * this.wide + this.left);
    }
  }

  /** A counter as steps: each value holds until the next. */
  private chart(counter: Counter, top: number, height: number): void {
    const { count, th, tl, value } = counter;
    if (!count) return;
    const { packed, clip } = this;
    // From zero, so that what is twice as high is twice as much.
    const [low_, high_] = extent(counter);
    const y = (v: number) => Math.round((1 - (v - low_) / (high_ - low_)) * (height - 2));
    const area = mix(packed.plot, packed.accent, 0.25);
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.since(th[middle], tl[middle]) < 0) low = middle + 1;
      else high = middle;
    }
    let point = low;
    let held = point > 0 ? value[point - 1] : Number.NaN;
    for (let c = 0; c < this.plot; c++) {
      let smallest = held;
      let largest = held;
      while (point < count && this.place(th[point], tl[point]) < c + 1) {
        held = value[point++];
        if (!(smallest <= held)) smallest = held;
        if (!(largest >= held)) largest = held;
      }
      if (Number.isNaN(largest)) continue;
      const above = y(largest);
      const below = y(smallest);
      for (let row = Math.max(0, above); row < height; row++) {
        const at = top + row;
        if (at < clip[0] || at >= clip[1]) continue;
        this.pixels[at * this.wide + this.left + c] = row <= below + this.pixelRatio - 1 ? packed.accent : area;
      }
    }
  }

  /** What a counter comes to at the top, at the left edge of its chart. */
  private scaleOf(counter: Counter, top: number): void {
    const text = counterValue(counter, extent(counter)[1]);
    if (!counter.count) return;
    const y = top + this.px(9);
    this.label(text, this.left + this.px(4), y, this.plain["ink-3"]);
    // The value at the right edge of the window.
    const last = this.model.reading(counter, this.model.plot);
    if (last === null) return;
    const said = counterValue(counter, last);
    this.label(said, this.wide - this.px(6) - this.pen.width(said, false), y, this.plain.ink);
  }

  /** Writes on the paper's colour, so that no line of a chart runs through the text. */
  private label(text: string, x: number, y: number, ink: string): void {
    const { context, plain } = this;
    context.fillStyle = plain.plot;
    context.fillRect(x - this.px(2), y - this.px(7), this.pen.width(text, false) + this.px(4), this.px(14));
    this.pen.write(text, false, x, y, ink);
  }

  /** Paints lines between `clip`, moved up by `scroll`; returns the texts of their items. */
  private paintLines(list: Line[], scroll: number): Text[] {
    const { data } = this.model;
    const texts: Text[] = [];
    for (const one of list) {
      const top = this.px(one.top - scroll);
      if (top > this.clip[1]) break;
      if (top + this.px(one.height) < this.clip[0]) continue;
      if (one.counter) {
        this.chart(one.counter, top + this.px(3), this.px(one.height - 6));
        continue;
      }
      for (const row of one.rows) {
        const y = top + this.px(row.top);
        const height = this.px(row.height);
        if (y + height < this.clip[0] || y > this.clip[1]) continue;
        const kind = data.kinds[row.row];
        this.paint(row.row, (item, a, b, found) => texts.push({ item, a, b, y, height, found, kind }));
        this.copy(y, height - 1);
      }
    }
    return texts;
  }

  private write(texts: Text[]): void {
    const { context, plain, left, model } = this;
    const end = this.px(9);
    for (const { item, a, b, y, height, found, kind } of texts) {
      const flags = model.t.flags[item];
      if (flags & FAILED) {
        context.fillStyle = plain.bad;
        context.fillRect(left + a, y + height - this.px(3), b - a - 1, this.px(2));
      }
      context.fillStyle = this.hatch;
      if (flags & PARTIAL_START) context.fillRect(left + a, y, Math.min(end, b - a), height - 1);
      if (flags & PARTIAL_END) context.fillRect(left + Math.max(a, b - end), y, Math.min(end, b - a), height - 1);
      if (kind === LOSS) context.fillRect(left + a, y, b - a, height - 1);
      if (b - a < this.px(22) || height < this.px(12)) continue;
      const isDim = !found && (!!model.hits || (model.lit !== NO_KIND && model.work[item] !== model.lit));
      const ink = found ? plain["on-match"] : isDim ? plain.ink : plain["on-k"];
      this.pen.name(this.words.forms(item), left + a + this.px(4), y + height / 2, b - a - this.px(7), ink);
    }
  }

  /** Bands of pauses and losses across the lines of their recording. */
  private bands(list: Line[], scroll: number): void {
    const { context, clip, plain, model } = this;
    const reach = new Map<number, [number, number]>();
    for (const one of list) {
      const top = Math.max(this.px(one.top - scroll), clip[0]);
      const bottom = Math.min(this.px(one.top + one.height - scroll), clip[1]);
      if (bottom <= top) continue;
      const known = reach.get(one.source) ?? [top, bottom];
      reach.set(one.source, [Math.min(known[0], top), Math.max(known[1], bottom)]);
    }
    for (const [source, [top, bottom]] of reach) {
      for (const row of model.bands[source] ?? []) {
        this.paint(row, null);
        const isLost = model.data.kinds[row] === LOSS;
        context.fillStyle = isLost ? this.hatch : plain.pause;
        context.globalAlpha = isLost ? 0.5 : 0.16;
        for (let c = 0; c < this.plot; c++) {
          if (!this.cover[c]) continue;
          const start = c;
          while (c < this.plot && this.cover[c]) c++;
          context.fillRect(this.left + start, top, Math.max(c - start, isLost ? this.px(3) : 1), bottom - top);
        }
        context.globalAlpha = 1;
      }
    }
  }

  private gutter(list: Line[], scroll: number): void {
    const { context, clip, plain, model, left } = this;
    for (const one of list) {
      const top = this.px(one.top - scroll);
      const bottom = top + this.px(one.height);
      if (bottom < clip[0] || top > clip[1]) continue;
      context.fillStyle = plain.line;
      context.fillRect(0, bottom - 1, this.wide, 1);
      const shown = Math.max(top, clip[0]);
      const y = shown + this.px(Math.min(10, one.height / 2));
      context.save();
      context.beginPath();
      context.rect(0, shown, left - this.px(4), Math.min(bottom, clip[1]) - shown);
      context.clip();
      const isPinned = model.layout.pinned.includes(one.key);
      if (one.key) {
        const ink = isPinned ? plain.accent : plain["ink-3"];
        this.pen.write(isPinned ? "◆" : "◇", false, this.px(3), y, ink);
      }
      const indent = this.px(18 + 10 * Math.min(one.level, 6));
      const ink = !one.key ? plain["ink-3"] : one.key === model.track ? plain.accent : plain.ink;
      const sign = one.folds ? (one.folded ? "▸ " : "▾ ") : "";
      const x = one.key ? indent : this.px(3);
      this.pen.write(sign, false, x, y, plain["ink-3"]);
      // The end of a thread's name is what tells it apart.
      const from = x + this.pen.width(sign, false);
      const room = this.pen.width(one.busy, false);
      this.pen.write(this.pen.tail(one.name, left - this.px(16) - from - room), false, from, y, ink);
      this.pen.write(one.busy, false, left - this.px(8) - room, y, plain["ink-3"]);
      if (one.note && one.height >= 32) {
        this.pen.write(this.pen.head(one.note, left - this.px(8) - x), false, x, y + this.px(15), plain["ink-3"]);
      }
      context.restore();
      this.rowNames(one, top);
    }
  }

  /** Says at the edge of the gutter what rows hold that are not spans. */
  private rowNames(one: Line, top: number): void {
    if (one.folded) return;
    const { data } = this.model;
    let last = -1;
    for (const { row, top: above, height } of one.rows) {
      const kind = data.kinds[row];
      const word = ROW_WORDS[kind];
      const isNew = kind !== last;
      last = kind;
      const y = top + this.px(above + height / 2);
      if (!word || !isNew || y < this.clip[0] || one.height < 44) continue;
      const room = this.pen.width(word, false);
      this.pen.write(word, false, this.left - this.px(8) - room, y, this.plain["ink-3"]);
    }
  }

  private axis(): void {
    const { context, plain, left, plot, model } = this;
    const head = this.px(HEAD);
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, this.wide, head);
    const { step, marks } = model.ticks();
    for (const mark of marks) {
      const x = left + this.px(mark.x);
      context.fillStyle = plain.line;
      context.fillRect(x, head - this.px(8), 1, this.px(8));
      const clock = this.words.clock(mark.at, step);
      if (x + this.px(3) + this.pen.width(clock, false) <= this.wide)
        this.pen.write(clock, false, x + this.px(3), head - this.px(13), plain["ink-3"]);
    }
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, left, head);
    // No more digits than the zoom tells apart.
    const fine = model.perPixel < 1e3 ? 9 : model.perPixel < 1e6 ? 6 : 3;
    const date = model.data.unix ? this.words.date(model.start + model.leftEdge(), fine) : "own clock";
    // Where there is no room for the day, the time stands alone.
    const corner = this.pen.width(date, false) > left - this.px(8) ? date.replace(/^.*T/, "") : date;
    this.pen.write(this.pen.head(corner, left - this.px(8)), false, this.px(4), head - this.px(13), plain["ink-3"]);
    const [start, part] = model.share();
    context.fillStyle = plain.line;
    context.fillRect(left, head - this.px(3), plot, this.px(3));
    context.fillStyle = plain.accent;
    context.fillRect(left + start * plot, head - this.px(3), Math.max(part * plot, this.px(2)), this.px(3));
  }

  private outline(item: number, list: Line[], scroll: number, isStrong: boolean): void {
    const { context, model, plot } = this;
    const { t } = model;
    const spot = model.spot(item, list);
    if (!spot) return;
    const x = Math.max(this.place(t.sh[item], t.sl[item]), -4);
    const to = Math.min(this.place(t.eh[item], t.el[item]), plot + 4);
    if (to < 0 || x > plot) return;
    context.strokeStyle = this.plain.ink;
    context.lineWidth = isStrong ? this.px(2) : 1;
    const top = this.px(spot.top - scroll);
    context.strokeRect(this.left + x, top, Math.max(to - x - 1, this.px(2)), this.px(spot.height) - 1);
  }

  private marks(): void {
    const { context, plain, model, left, wide } = this;
    const ends = model.measured.map(({ h, l }) => left + this.place(h, l));
    if (!ends.length) return;
    context.fillStyle = plain.accent;
    for (const x of ends) context.fillRect(Math.round(x), 0, 1, this.high);
    if (ends.length < 2) return;
    const [a, b] = ends.map((x) => Math.min(Math.max(x, left), wide)).sort((a, b) => a - b);
    context.globalAlpha = 0.12;
    context.fillRect(a, this.px(HEAD), b - a, this.high);
    context.globalAlpha = 1;
    const text = measured(model.distance());
    const room = this.pen.width(text, false);
    const x = Math.min(Math.max((a + b - room) / 2, left + this.px(4)), wide - room - this.px(4));
    context.fillStyle = plain.paper;
    context.fillRect(x - this.px(4), this.px(HEAD + 4), room + this.px(8), this.px(18));
    this.pen.write(text, false, x, this.px(HEAD + 13), plain.accent);
  }

  /** Draws with the lines moved up by `scroll`. */
  draw(scroll: number): void {
    const { context, model, plain, left, plot } = this;
    this.scale = plot / model.view.span;
    this.pixels.fill(this.packed.plot);
    // Pinned lines stay below the axis; the others pass under them.
    const bottom = this.px(HEAD + model.layout.pinnedHeight);
    const areas: { list: Line[]; scroll: number; clip: [number, number] }[] = [
      { list: model.layout.pinnedLines, scroll: -HEAD, clip: [this.px(HEAD), bottom] },
      { list: model.layout.lines, scroll: scroll - HEAD - model.layout.pinnedHeight, clip: [bottom, this.high] },
    ];
    const texts = areas.map(({ list, scroll, clip }) => {
      this.clip = clip;
      return this.paintLines(list, scroll);
    });
    context.putImageData(this.image, 0, 0);
    areas.forEach(({ list, scroll, clip }, area) => {
      this.clip = clip;
      const height = clip[1] - clip[0];
      context.save();
      context.beginPath();
      context.rect(left, clip[0], plot, height);
      context.clip();
      this.write(texts[area]);
      for (const one of list) if (one.counter) this.scaleOf(one.counter, this.px(one.top - scroll));
      this.bands(list, scroll);
      if (model.hovered >= 0) this.outline(model.hovered, list, scroll, false);
      if (model.selected >= 0) this.outline(model.selected, list, scroll, true);
      context.restore();
      context.fillStyle = plain.paper;
      context.fillRect(0, clip[0], left, height);
      context.save();
      context.beginPath();
      context.rect(0, clip[0], this.wide, height);
      context.clip();
      this.gutter(list, scroll);
      context.restore();
    });
    if (model.layout.pinnedLines.length) {
      context.fillStyle = plain.accent;
      context.fillRect(0, bottom - 1, this.wide, this.px(1));
    }
    this.axis();
    this.marks();
  }
}

/** What a measured distance says. */
export const measured = (far: bigint): string => (far < 1000n ? commas(far) : `${amount(far)} = ${commas(far)}`);

/** What the chart of a counter begins and ends with: from zero to the next round value. */
function extent(counter: Counter): [low: number, high: number] {
  const low = Math.min(counter.least, 0);
  const high = counter.most > 0 ? roundUp(counter.most, counter.unit) : 0;
  return [low, high > low ? high : low + 1];
}
