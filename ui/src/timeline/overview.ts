/* The whole of a timeline on one strip: how many tracks are at work when, and where the window is. */
import { Pen } from "../shared/pen";
import { colours, ratio } from "../shared/theme";
import { HALF, PAUSE, SAMPLE, SPAN } from "./data";
import type { TimelineModel } from "./model";
import { atWork } from "./words";

const HIGH = 44;
/** Pixels from an edge of the window that move it. */
const EDGE = 5;
/** Pixels that a press may move. */
const PRESS = 4;

const NAMES = ["paper", "sunken", "line", "line-2", "ink-2", "ink-3", "accent", "accent-bg", "pause"] as const;

/** Tracks at work in each of so many equal stretches of the whole; samples where there are no spans. */
export function activity(model: TimelineModel, stretches: number): Float64Array<ArrayBuffer> {
  const sums = new Float64Array(stretches);
  const { data, t, longest } = model;
  const scale = stretches / longest;
  const isCalled = data.kinds.some((kind) => kind === SPAN);
  for (let row = 0; row < data.counts.length; row++) {
    const isShown = isCalled ? data.kinds[row] === SPAN && data.levels[row] === 0 : data.kinds[row] === SAMPLE;
    if (!isShown) continue;
    const items = model.whole(row, 1 / scale);
    for (let place = 0; place < items.size; place++) {
      const [start, end] = [items.first(place), items.last(place)];
      const from = (t.sh[start] * HALF + t.sl[start]) * scale;
      const to = (t.eh[end] * HALF + t.el[end]) * scale;
      const first = Math.min(Math.max(Math.floor(from), 0), stretches - 1);
      if (!isCalled) {
        for (let item = start; item <= end; item++) sums[first] += t.folded.get(item) ?? 1;
        continue;
      }
      const filled = items.filled(place);
      for (let at = first; at < stretches && at < to; at++) {
        sums[at] += (Math.min(to, at + 1) - Math.max(from, at)) * filled;
      }
    }
  }
  return sums;
}

export class Overview {
  private readonly context: CanvasRenderingContext2D;
  private readonly pen: Pen;
  private plain = {} as Record<(typeof NAMES)[number], string>;
  private sums = new Float64Array(0);
  private drag: { at: number; from: number; part: number; what: "move" | "start" | "end" | "new" } | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly part: HTMLElement,
    private readonly model: TimelineModel,
    /** Shows so much of the whole, both as shares of it. */
    private readonly show: (start: number, part: number) => void,
  ) {
    this.context = canvas.getContext("2d") as CanvasRenderingContext2D;
    this.pen = new Pen(this.context);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => {
      this.drag = null;
    });
  }

  dress(): void {
    this.plain = colours<string>([...NAMES], this.part) as typeof this.plain;
  }

  private get plot(): number {
    return this.model.plot;
  }

  private shareAt(event: MouseEvent): number {
    const x = event.clientX - this.canvas.getBoundingClientRect().left - this.model.left;
    return Math.min(Math.max(x / this.plot, 0), 1);
  }

  private press(event: PointerEvent): void {
    if (event.button) return;
    const at = this.shareAt(event);
    const [start, part] = this.model.share();
    const near = EDGE / this.plot;
    const isWhole = part >= 0.999;
    const what =
      !isWhole && Math.abs(at - start) < near
        ? "start"
        : !isWhole && Math.abs(at - start - part) < near
          ? "end"
          : !isWhole && at > start && at < start + part
            ? "move"
            : "new";
    this.drag = { at, from: start, part, what };
    this.canvas.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const { drag } = this;
    if (!drag) return;
    const at = this.shareAt(event);
    if (Math.abs(at - drag.at) * this.plot < PRESS) return;
    if (drag.what === "move") this.show(Math.max(0, drag.from + at - drag.at), drag.part);
    else {
      const fixed = drag.what === "start" ? drag.from + drag.part : drag.what === "end" ? drag.from : drag.at;
      this.show(Math.min(at, fixed), Math.abs(at - fixed));
    }
  }

  private release(event: PointerEvent): void {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    const at = this.shareAt(event);
    // A press brings the window there.
    if (Math.abs(at - drag.at) * this.plot < PRESS && drag.part < 0.999) this.show(at - drag.part / 2, drag.part);
  }

  draw(): void {
    const { context, model, plain, pen } = this;
    const { left, wide } = model;
    const pixels = ratio();
    const size = [Math.round(wide * pixels), Math.round(HIGH * pixels)];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) {
      [this.canvas.width, this.canvas.height] = size;
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${HIGH}px`;
    }
    const stretches = Math.max(1, Math.floor(this.plot / 3));
    if (this.sums.length !== stretches) this.sums = activity(model, stretches);
    const most = this.sums.reduce((most, sum) => Math.max(most, sum), 0);
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, wide, HIGH);
    context.fillStyle = plain.sunken;
    context.fillRect(left, 0, this.plot, HIGH);
    const [start, part] = model.share();
    if (part < 0.999) {
      context.fillStyle = plain["accent-bg"];
      context.fillRect(left + start * this.plot, 0, Math.max(part * this.plot, 2), HIGH);
    }
    context.fillStyle = plain["ink-3"];
    for (let at = 0; at < stretches; at++) {
      if (!this.sums[at]) continue;
      const high = Math.max((this.sums[at] / most) * (HIGH - 12), 1);
      context.fillRect(left + (at * this.plot) / stretches, HIGH - 6 - high, 2, high);
    }
    this.pauses();
    context.fillStyle = plain.accent;
    if (part < 0.999) {
      context.fillRect(left + start * this.plot - 1, 0, 2, HIGH);
      context.fillRect(left + (start + part) * this.plot - 1, 0, 2, HIGH);
    }
    context.fillStyle = plain.line;
    context.fillRect(0, HIGH - 1, wide, 1);
    pen.write("the whole", false, 12, 14, plain["ink-2"]);
    if (most > 0) pen.write(pen.head(atWork(model, most), left - 16), false, 12, 31, plain["ink-3"]);
  }

  private pauses(): void {
    const { model, context, plain } = this;
    const { data, t, longest, left } = model;
    context.fillStyle = plain.pause;
    for (let row = 0; row < data.counts.length; row++) {
      if (data.kinds[row] !== PAUSE) continue;
      const items = model.whole(row, longest / this.plot);
      for (let at = 0; at < items.size; at++) {
        const [first, last] = [items.first(at), items.last(at)];
        const from = ((t.sh[first] * HALF + t.sl[first]) / longest) * this.plot;
        const to = ((t.eh[last] * HALF + t.el[last]) / longest) * this.plot;
        context.fillRect(left + from, HIGH - 5, Math.max(to - from, 1), 4);
      }
    }
  }
}
