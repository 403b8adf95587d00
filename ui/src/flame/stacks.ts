/* The stack chart: what was on the stack of one thread when. Columns of time, callers above what they called. */

import { Pen } from "../shared/pen";
import { colours, isPrinting, ratio, widthOf } from "../shared/theme";
import type { Tip } from "../shared/tip";
import { type Course, moment, type Range } from "./course";
import { type FlameModel, NOTHING } from "./model";
import { busiest, columns, type Run, runs } from "./runs";

const ROW = 18;
/** Pixels of a column, and of the line of words above. */
const COLUMN = 2;
const WORDS = 20;
/** Levels that are drawn. */
const DEEPEST = 200;

const NAMES = ["paper", "ink", "ink-2", "k-none", "match", "on-match", "on-k"] as const;

export class StackChart {
  private readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly pen: Pen;
  private plain = {} as Record<(typeof NAMES)[number], string>;
  private drawn: { key: string; of: FlameModel; runs: Run[]; size: number; window: Range; thread: number } | null =
    null;
  private hovered: Run | null = null;

  constructor(
    private readonly place: HTMLElement,
    private readonly part: HTMLElement,
    private model: FlameModel,
    private readonly colourOf: (kind: number) => string,
    private readonly tip: Tip,
    /** Shows a node of the whole tree in the graph. */
    private readonly choose: (node: number, thread: number) => void,
  ) {
    this.canvas = place.querySelector("canvas") as HTMLCanvasElement;
    this.context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    this.pen = new Pen(this.context);
    place.addEventListener("pointermove", (event) => this.hover(event));
    place.addEventListener("pointerleave", () => this.leave());
    place.addEventListener("click", (event) => {
      const run = this.at(event);
      if (run && this.drawn) this.choose(run.node, this.drawn.thread);
    });
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(model: FlameModel): void {
    this.model = model;
    this.draw();
  }

  dress(): void {
    this.plain = colours<string>([...NAMES], this.part) as typeof this.plain;
    this.draw();
  }

  private get wide(): number {
    return widthOf(this.place);
  }

  /** Frames of what is looked at: the chosen range, or all that the strip shows. */
  private look(course: Course): NonNullable<typeof this.drawn> {
    const { model } = this;
    const window = model.seen.range ?? course.bulk(model.seen.thread);
    const thread = model.seen.thread >= 0 ? model.seen.thread : busiest(course, window);
    const size = Math.max(1, Math.floor(this.wide / COLUMN));
    const key = `${window} ${thread} ${size}`;
    if (this.drawn?.key !== key || this.drawn.of !== model) {
      const found = runs(model.all, columns(course, thread, window, size));
      this.drawn = { key, of: model, runs: found.filter((run) => run.depth < DEEPEST), size, window, thread };
    }
    return this.drawn;
  }

  /** What is shown, in words: the chart has no more threads than one. */
  private words(course: Course, { window, thread, runs }: NonNullable<typeof this.drawn>): string {
    const name = course.threads[thread] || "without a name";
    const others = this.model.seen.thread < 0 && course.threads.length > 1;
    const which = others ? `thread ${name}, the busiest of ${course.threads.length}` : `thread ${name}`;
    const when = `${moment(course, window[0])} to ${moment(course, window[1])}`;
    return runs.length ? `${which} · ${when} · of each column the stack that took most` : `nothing ran on ${which}`;
  }

  draw(): void {
    const { context, plain, pen, wide, model, place } = this;
    const { course } = model.data;
    if (!course || place.hidden || !wide || !plain.paper) return;
    const seen = this.look(course);
    const { runs, size } = seen;
    const rows = runs.reduce((most, run) => Math.max(most, run.depth + 1), 1);
    const high = WORDS + rows * ROW;
    const pixels = isPrinting() ? 2 : ratio();
    this.canvas.width = Math.round(wide * pixels);
    this.canvas.height = Math.round(high * pixels);
    this.canvas.style.width = `${wide}px`;
    this.canvas.style.height = `${high}px`;
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, wide, high);
    pen.write(pen.head(this.words(course, seen), wide), false, 0, WORDS / 2 - 1, plain["ink-2"]);
    const scale = wide / size;
    const { all: tree, hits, lit } = model;
    for (const run of runs) {
      const symbol = tree.symbol[run.node];
      const kind = model.kindOf(run.node, tree);
      const found = !!hits?.[symbol];
      const isDim = (hits && !found) || (lit !== NOTHING && kind !== lit);
      const [x, y, w] = [run.from * scale, WORDS + run.depth * ROW, (run.to - run.from) * scale];
      context.globalAlpha = isDim ? 0.35 : 1;
      context.fillStyle = found ? plain.match : this.colourOf(kind);
      context.fillRect(x, y, Math.max(w - (w > 4 ? 1 : 0), 1), ROW - 1);
      context.globalAlpha = 1;
      if (run === this.hovered) {
        context.strokeStyle = plain.ink;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(w - 2, 1), ROW - 2);
      }
      if (w < 16) continue;
      const ink = isDim ? plain.ink : found ? plain["on-match"] : plain["on-k"];
      pen.name(model.data.forms(symbol), x + 4, y + ROW / 2, w - 8, ink);
    }
  }

  private at(event: MouseEvent): Run | null {
    if (!this.drawn) return null;
    const bounds = this.canvas.getBoundingClientRect();
    const column = ((event.clientX - bounds.left) / this.wide) * this.drawn.size;
    const depth = Math.floor((event.clientY - bounds.top - WORDS) / ROW);
    return this.drawn.runs.find((run) => run.depth === depth && column >= run.from && column < run.to) ?? null;
  }

  private hover(event: MouseEvent): void {
    const run = this.at(event);
    const { model, drawn, tip } = this;
    const { course } = model.data;
    if (!run || !drawn || !course) {
      this.leave();
      return;
    }
    const [first, last] = drawn.window;
    const stretch = (column: number) => first + Math.round((column * (last - first)) / drawn.size);
    const when = `${moment(course, stretch(run.from))} to ${moment(course, stretch(run.to))}`;
    const kind = model.kindName(model.kindOf(run.node, model.all));
    const pairs: [string, string][] = [
      ["on the stack", when],
      ["total of all", model.amount(model.all.sum[run.node])],
      ["kind", kind],
    ];
    tip.show(model.data.names[model.all.symbol[run.node]], pairs, event.clientX, event.clientY);
    if (run === this.hovered) return;
    this.hovered = run;
    this.draw();
  }

  private leave(): void {
    this.tip.hide();
    if (!this.hovered) return;
    this.hovered = null;
    this.draw();
  }
}
