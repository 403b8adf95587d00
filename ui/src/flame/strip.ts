/* When it ran: a strip of bars, stacked by kinds of work. Dragging chooses a range, and so do keys. */
import { Pen } from "../shared/pen";
import { colours, dark, isPrinting, ratio, widthOf } from "../shared/theme";
import { isLocalZone } from "../shared/zone";
import { type Bars, bars, type Course, moment, type Range } from "./course";
import type { FlameModel } from "./model";

const HIGH = 56;
/** Pixels of the line of words, and of a bar with the gap behind it. */
const WORDS = 18;
const BAR = 3;
/** Pixels that a press may move. */
const PRESS = 4;

const NAMES = ["paper", "ink-2", "ink-3", "line-2", "accent", "accent-bg"] as const;

export class Strip {
  private readonly context: CanvasRenderingContext2D;
  private readonly pen: Pen;
  private readonly canvas: HTMLCanvasElement;
  private plain = {} as Record<(typeof NAMES)[number], string>;
  private window: Range = [0, 1];
  private drawn: { key: string; bars: Bars } | null = null;
  private drag: { at: number; x: number; to: number } | null = null;

  constructor(
    private readonly place: HTMLElement,
    private readonly part: HTMLElement,
    private model: FlameModel,
    private readonly colourOf: (kind: number) => string,
    /** Looks at stretches of time; none for all. */
    private readonly choose: (range: Range | null) => void,
  ) {
    this.canvas = place.querySelector("canvas") as HTMLCanvasElement;
    this.context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    this.pen = new Pen(this.context);
    place.addEventListener("pointerdown", (event) => this.press(event));
    place.addEventListener("pointermove", (event) => this.move(event));
    place.addEventListener("pointerup", () => this.release());
    place.addEventListener("pointercancel", () => {
      this.drag = null;
      this.draw();
    });
    place.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  private get course(): Course | null {
    return this.model.data.course;
  }

  /** Shows another model, or the same one's other thread. */
  show(model: FlameModel): void {
    this.model = model;
    this.drawn = null;
    this.place.hidden = !this.course;
    if (this.course) this.window = this.course.bulk(model.seen.thread);
    this.draw();
  }

  dress(): void {
    this.plain = colours<string>([...NAMES], this.part) as typeof this.plain;
    this.draw();
  }

  private get wide(): number {
    return widthOf(this.place);
  }

  private stretchAt(event: MouseEvent): number {
    const x = event.clientX - this.place.getBoundingClientRect().left;
    const [from, to] = this.window;
    return Math.min(Math.max(Math.round(from + (x / this.wide) * (to - from)), from), to);
  }

  private press(event: PointerEvent): void {
    if (event.button) return;
    const at = this.stretchAt(event);
    this.drag = { at, x: event.clientX, to: at };
    this.place.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    if (!this.drag || Math.abs(event.clientX - this.drag.x) < PRESS) return;
    this.drag.to = this.stretchAt(event);
    this.draw();
  }

  private release(): void {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    if (drag.to !== drag.at) this.choose([Math.min(drag.at, drag.to), Math.max(drag.at, drag.to)]);
    else if (this.model.seen.range) this.choose(null);
  }

  /** Arrows move the range by a twentieth of the strip, with Shift its end alone. */
  private key(event: KeyboardEvent): void {
    const { course } = this;
    const { range } = this.model.seen;
    const [first, last] = this.window;
    const step = Math.max(Math.round((last - first) / 20), 1) * (event.key === "ArrowLeft" ? -1 : 1);
    if (!course || !["ArrowLeft", "ArrowRight", "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") this.choose(null);
    else if (!range) this.choose([first, first + Math.abs(step)]);
    else {
      const move = Math.min(
        Math.max(step, event.shiftKey ? range[0] + 1 - range[1] : -range[0]),
        course.size - range[1],
      );
      this.choose([event.shiftKey ? range[0] : range[0] + move, range[1] + move]);
    }
  }

  private words(bars: Bars, course: Course): [left: string, right: string] {
    const { model } = this;
    const [from, to] = this.window;
    const { held } = model.data;
    const length = ((to - from) * course.step) / bars.size;
    const isTime = held.source === "calls" && held.unit === "ns";
    const threads = bars.most / length;
    const most = isTime
      ? `threads at work, ${threads < 0.05 ? "under 0.1" : `at most ${threads.toFixed(threads < 9.95 ? 1 : 0)}`}`
      : `${held.value} over time, at most ${model.amount(bars.most)} a bar`;
    let outside = 0;
    course.each(model.seen.thread, (stretch, _, own) => {
      if (stretch < from || stretch >= to) outside += own;
    });
    const zone = course.unix ? (isLocalZone() ? " here" : " UTC") : "";
    const left = `${most} · ${moment(course, from)} to ${moment(course, to)}${zone}`;
    return [left, `${outside ? `${model.amount(outside)} outside this strip · ` : ""}drag to choose a range`];
  }

  draw(): void {
    const { context, course, plain, pen, wide, model } = this;
    if (!course || !wide || !plain.paper) return;
    const pixels = ratio();
    const size = [Math.round(wide * pixels), Math.round(HIGH * pixels)];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) {
      [this.canvas.width, this.canvas.height] = size;
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${HIGH}px`;
    }
    const [from, to] = this.window;
    const count = Math.max(1, Math.min(Math.floor(wide / BAR), to - from));
    const key = `${count} ${model.seen.thread}`;
    if (this.drawn?.key !== key) this.drawn = { key, bars: bars(model, course, this.window, count) };
    const shown = this.drawn.bars;
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, wide, HIGH);
    const { drag } = this;
    const dragged: Range | null =
      drag && drag.to !== drag.at ? [Math.min(drag.at, drag.to), Math.max(drag.at, drag.to)] : null;
    const range = dragged ?? model.seen.range;
    const x = (stretch: number) => ((Math.min(Math.max(stretch, from), to) - from) / (to - from)) * wide;
    if (range) {
      context.fillStyle = plain["accent-bg"];
      context.fillRect(x(range[0]), WORDS, Math.max(x(range[1]) - x(range[0]), 1), HIGH - WORDS);
    }
    const tops = new Float64Array(count);
    const scale = (HIGH - WORDS - 4) / (shown.most || 1);
    const bar = wide / count;
    for (const [kind, sums] of shown.kinds) {
      context.fillStyle = this.colourOf(kind);
      for (let at = 0; at < count; at++) {
        const high = sums[at] * scale;
        if (high > 0) context.fillRect(at * bar, HIGH - 1 - tops[at] - high, Math.max(bar - 1, 1), high);
        tops[at] += high;
      }
    }
    // What is there is seen, pale as its colour may be.
    context.fillStyle = dark() ? plain["ink-2"] : plain["ink-3"];
    for (let at = 0; at < count; at++) {
      if (tops[at] > 0) context.fillRect(at * bar, HIGH - 2 - tops[at], Math.max(bar - 1, 1), 1);
    }
    context.fillStyle = plain["line-2"];
    context.fillRect(0, HIGH - 1, wide, 1);
    context.fillStyle = plain.accent;
    for (const edge of range ?? []) context.fillRect(Math.min(x(edge), wide - 2), WORDS, 2, HIGH - WORDS);
    const [left, right] = this.words(shown, course);
    pen.write(pen.head(left, wide), false, 0, 8, plain["ink-2"]);
    const room = pen.width(right, false);
    if (!isPrinting() && pen.width(left, false) + room + 24 < wide)
      pen.write(right, false, wide - room, 8, plain["ink-3"]);
  }
}
