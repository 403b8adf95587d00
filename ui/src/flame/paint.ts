/* Draws a flame graph, and finds what lies under a point of it. */
import { counted, grouped } from "../shared/amount";
import { kindToken, LIBRARY, NATIVE, OWN, RUNTIME, UNKNOWN } from "../shared/kinds";
import { Pen } from "../shared/pen";
import type { Narrow, NodeSource, Nodes } from "../shared/source";
import { cutStrips } from "../shared/strips";
import { colours, dark, frameHeight, isPrinting, ratio, widthOf } from "../shared/theme";
import { signed } from "./change";
import { type FlameModel, NOTHING } from "./model";

/** Narrower frames are summed. */
const LEAST = 1.5;
/** From this width on a frame says what it came to. */
const AMOUNT = 300;
/** Rows of a strip on paper. */
const STRIP = 8;
/** Levels of the whole that its row shows beside a window, and the pixels above and below them. */
const MAPPED = 5;
const MARGIN = 2;

const NAMES = ["paper", "ink", "line-2", "accent", "match", "on-match", "k-none", "on-k", "on-d", "on-d3"] as const;
type Named = (typeof NAMES)[number];
const STEPS = ["d-f3", "d-f2", "d-f1", "d-0", "d-s1", "d-s2", "d-s3"];
/** Frames that are too narrow to be drawn one by one. */
export interface Rest {
  x: number;
  y: number;
  w: number;
  count: number;
  more: boolean;
  sum: number;
}

export class FlamePainter {
  private readonly context: CanvasRenderingContext2D;
  private readonly pen: Pen;
  private packages: string[] = [];
  private steps: string[] = [];
  private kinds: string[] = [];
  private owns: string[] = [];
  private unnamed: Record<number, string> = {};
  private plain = {} as Record<Named, string>;
  private rests: Rest[] = [];
  private asked: { source: NodeSource; key: string; nodes: Nodes } | null = null;
  private mapped: { source: NodeSource; wide: number; nodes: number[] } | null = null;
  private frame = 0;

  constructor(
    private model: FlameModel,
    private readonly part: HTMLElement,
    private readonly view: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private readonly room: HTMLElement,
    /** Says what is too narrow to be drawn even together. */
    private readonly beyond: HTMLElement,
  ) {
    this.context = canvas.getContext("2d") as CanvasRenderingContext2D;
    this.pen = new Pen(this.context);
  }

  /** Shows another model. */
  show(model: FlameModel): void {
    this.model = model;
  }

  /** Takes the colours of the theme. */
  dress(): void {
    const { held } = this.model.data;
    const { categories } = held;
    const kinds = categories.map((_, kind) => kindToken(kind, categories));
    const owns = [0, 1, 2].map((shade) => kindToken(OWN, [], shade));
    const unnamed = [OWN, RUNTIME, NATIVE, UNKNOWN, LIBRARY].map((kind) => [kind, kindToken(kind, [])] as const);
    const tokens: string[] = [...NAMES, ...STEPS, ...kinds, ...owns, ...unnamed.map(([, token]) => token)];
    const of: Record<string, string> = colours(tokens, this.part);
    for (const name of NAMES) this.plain[name] = of[name];
    this.packages = dark() ? held.dark : held.light;
    this.steps = STEPS.map((name) => of[name]);
    this.owns = owns.map((name) => of[name]);
    this.kinds = kinds.map((name) => of[name]);
    for (const [kind, token] of unnamed) this.unnamed[kind] = of[token];
  }

  /** Pixels of a row of frames. */
  get row(): number {
    return frameHeight();
  }

  kindColour(kind: number): string {
    return kind < 0 ? this.unnamed[kind] : this.kinds[kind];
  }

  /** Colour and ink of a node. */
  private fill(node: number): [fill: string, ink: string] {
    const { model, plain } = this;
    const { tree, data, seen } = model;
    const s = tree.symbol[node];
    if (seen.colours === "package") return [this.packages[data.colours[s]], plain["on-k"]];
    const step = seen.colours === "change" ? model.stepOf(node) : null;
    if (step !== null) return [this.steps[step], step === 0 || step === 6 ? plain["on-d3"] : plain["on-d"]];
    const kind = model.kindOf(node);
    // Lighter and darker of one hue are classes.
    const fill = kind === OWN ? this.owns[data.colours[s] % 3] : this.kindColour(kind);
    return [fill, plain["on-k"]];
  }

  private get wide(): number {
    return widthOf(this.view);
  }

  /** Rows that are drawn: down to the deepest in which something is wide enough. */
  get rows(): number {
    const { nodes, narrow } = this.seen();
    const { depth } = this.model.tree;
    const scale = this.wide / this.model.window[1];
    let deepest = -1;
    for (const node of nodes) deepest = Math.max(deepest, depth[node]);
    for (const { depth, width } of narrow) if (width * scale >= LEAST) deepest = Math.max(deepest, depth);
    return deepest + 2 - this.model.folded;
  }

  private get height(): number {
    return Math.max(this.rows * this.row, this.high);
  }

  /** On paper all rows are seen. */
  private get high(): number {
    return isPrinting() ? this.rows * this.row : this.view.clientHeight;
  }

  resize(): void {
    const { wide, high } = this;
    const size = [wide, high].map((pixels) => Math.max(1, Math.min(Math.round(pixels * ratio()), 16_000)));
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) {
      [this.canvas.width, this.canvas.height] = size;
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${high}px`;
      this.schedule();
    }
    this.room.style.height = `${this.rows * this.row}px`;
  }

  /** Cuts the drawing into strips of whole rows. */
  cutStrips(): void {
    const rows = Array.from({ length: Math.ceil(this.rows / STRIP) }, (_, at) => (at + 1) * STRIP * this.row);
    cutStrips(this.canvas, this.high, rows);
  }

  schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  /** The row of a level: all is level 0. Far callers of what is zoomed share a row. */
  private rowOf(level: number): number {
    const { folded } = this.model;
    if (folded === 0) return level;
    return level <= folded + 1 ? Math.min(level, 1) : level - folded;
  }

  private rowTop(level: number): number {
    const row = this.rowOf(level);
    const top = this.model.seen.upwards ? this.height - (row + 1) * this.row : row * this.row;
    return top - (isPrinting() ? 0 : this.view.scrollTop);
  }

  /** Scrolls a level into the view. */
  reveal(level: number): void {
    const top = this.rowTop(level);
    const { row, view } = this;
    if (top < 0) view.scrollTop += top - row;
    else if (top + row > view.clientHeight) view.scrollTop += top + 2 * row - view.clientHeight;
  }

  private bar(x: number, y: number, w: number, fill: string, alpha = 1): void {
    const { context } = this;
    context.globalAlpha = alpha;
    context.fillStyle = fill;
    context.fillRect(x, y, Math.max(w - (w > 3 ? 1 : 0), 0.5), this.row - 1);
    context.globalAlpha = 1;
  }

  private outline(node: number, x: number, y: number, w: number): void {
    const { context, model } = this;
    if (node !== model.selected && node !== model.hovered) return;
    context.strokeStyle = this.plain.ink;
    context.lineWidth = node === model.selected ? 2 : 1;
    context.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), this.row - 3);
  }

  private flush(rest: Rest): void {
    this.rests.push(rest);
    this.bar(rest.x, rest.y, rest.w, this.plain["k-none"]);
    const text = this.restText(rest);
    if (this.pen.width(text, false) <= rest.w - 10) {
      this.pen.write(text, false, rest.x + 5, rest.y + this.row / 2, this.plain["on-k"]);
    }
  }

  restText(rest: Rest): string {
    const count = rest.count ? `${rest.more ? "more than " : ""}${grouped(rest.count)} narrower` : "narrower frames";
    return `${count}, ${this.model.amount(rest.sum)}`;
  }

  /** What the window shows of the tree. */
  private seen(): Nodes {
    const { model, wide } = this;
    const { zoomed } = model.seen;
    const { source, window } = model;
    const key = `${zoomed} ${window} ${wide}`;
    if (this.asked?.source !== source || this.asked.key !== key) {
      const nodes = source.nodes(model.symbolsOf(zoomed), (LEAST * window[1]) / wide, window);
      this.asked = { source, key, nodes };
    }
    return this.asked.nodes;
  }

  draw(): void {
    const { context, model, plain, pen, row } = this;
    const { tree, hits, lit, folded } = model;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const pixels = ratio();
    const { wide, high } = this;
    const { symbol, depth, left, width } = tree;
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, wide, high);
    const [from, range] = model.window;
    const scale = wide / range;
    this.rests = [];
    this.bar(0, this.rowTop(0), wide, plain["k-none"]);
    if (range < 1) this.map(from, range);
    else {
      pen.write("all", true, 5, this.rowTop(0) + row / 2, plain["on-k"]);
      pen.write(model.amount(model.held.total), false, 34, this.rowTop(0) + row / 2, plain["on-k"]);
    }
    const { nodes, narrow } = this.seen();
    for (const node of nodes) {
      const isCaller = folded > 0 && depth[node] <= folded;
      // All but the first of the far callers are in its row.
      if (isCaller && depth[node] > 0) continue;
      const y = this.rowTop(depth[node] + 1);
      if (y <= -row || y >= high) continue;
      const x = Math.max((left[node] - from) * scale, 0);
      const w = Math.min((left[node] + width[node] - from) * scale, wide) - x;
      if (isCaller) {
        this.bar(x, y, w, plain["k-none"]);
        pen.write(`${folded + 1} callers`, false, x + 5, y + row / 2, plain["on-k"]);
      } else this.box(node, x, y, w, !!hits?.[symbol[node]], !!hits, lit);
    }
    for (const { depth, left, width, count, more, sum } of narrow) {
      const y = this.rowTop(depth + 1);
      const w = width * scale;
      if (w >= LEAST && y > -row && y < high) this.flush({ x: (left - from) * scale, y, w, count, more, sum });
    }
    const said = this.unseen(narrow.filter(({ width }) => width * scale < LEAST));
    if (this.beyond.textContent !== said) this.beyond.textContent = said;
  }

  /** Says what is too narrow to be drawn, siblings together as well. */
  private unseen(narrow: readonly Narrow[]): string {
    const count = narrow.reduce((sum, one) => sum + one.count, 0);
    if (!count) return "";
    const { model } = this;
    const isSum = model.data.held.merge === "sum";
    const sum = isSum ? `, together ${model.amount(narrow.reduce((sum, one) => sum + one.sum, 0))}` : "";
    return `${counted(count, "frame")} too narrow to be drawn${sum}`;
  }

  private box(node: number, x: number, y: number, w: number, found: boolean, searched: boolean, lit: number): void {
    const { model, plain } = this;
    const { tree, seen, data } = model;
    const [fill, ink] = found ? [plain.match, plain["on-match"]] : this.fill(node);
    const isOther = lit !== NOTHING && seen.colours === "category" && model.kindOf(node) !== lit;
    const isDim = (searched && !found) || isOther || (seen.zoomed >= 0 && tree.depth[node] < tree.depth[seen.zoomed]);
    this.bar(x, y, w, fill, isDim ? 0.35 : 1);
    this.outline(node, x, y, w);
    if (w < 16) return;
    // Dimmed, a frame is nearly paper: its text takes the ink of that.
    const text = isDim ? plain.ink : ink;
    const middle = y + this.row / 2;
    const used = this.pen.name(data.forms(tree.symbol[node]), x + 5, middle, w - 10, text);
    if (w < AMOUNT) return;
    const change = seen.colours === "change" ? model.changeOf(node) : null;
    const whole = [model.amount(tree.sum[node]), model.share(tree.sum[node])].filter(Boolean).join(" · ");
    // What did not change is grey, and says no more.
    if (change === 0) return;
    const amount = change === null ? whole : signed(change, model.amount(change));
    const room = this.pen.width(amount, false);
    if (used + room + 30 < w) this.pen.write(amount, false, x + w - 8 - room, middle, text);
  }

  /** The first levels of the whole, small, and where the window lies in them. */
  private map(from: number, range: number): void {
    const { context, plain, wide, row, model } = this;
    const { tree } = model;
    const top = this.rowTop(0);
    const level = (row - 1 - 2 * MARGIN) / MAPPED;
    if (this.mapped?.source !== model.source || this.mapped.wide !== wide) {
      const { nodes } = model.source.nodes([], 1 / wide, [0, 1]);
      this.mapped = { source: model.source, wide, nodes: nodes.filter((node) => tree.depth[node] < MAPPED) };
    }
    for (const node of this.mapped.nodes) {
      context.fillStyle = this.fill(node)[0];
      const y = model.seen.upwards ? MAPPED - 1 - tree.depth[node] : tree.depth[node];
      context.fillRect(tree.left[node] * wide, top + MARGIN + y * level, Math.max(tree.width[node] * wide, 1), level);
    }
    const [x, w] = [from * wide, Math.max(range * wide, 3)];
    context.globalAlpha = 0.6;
    context.fillStyle = plain.paper;
    context.fillRect(0, top, x, row - 1);
    context.fillRect(x + w, top, wide - x - w, row - 1);
    context.globalAlpha = 1;
    context.strokeStyle = plain.accent;
    context.lineWidth = 2;
    context.strokeRect(x + 1, top + 1, Math.max(w - 2, 1), row - 3);
  }

  /** Returns true if a point lies on the row that maps the whole while a part of it is seen. */
  isOnMap(y: number): boolean {
    const top = this.rowTop(0);
    return this.model.window[1] < 1 && y >= top && y < top + this.row;
  }

  /** Frames under a point that are too narrow to be drawn one by one. */
  restAt(x: number, y: number): Rest | null {
    const isAt = (rest: Rest) => x >= rest.x && x < rest.x + rest.w && y >= rest.y && y < rest.y + this.row;
    return this.rests.find(isAt) ?? null;
  }

  /** Where a node is drawn: the middle of its lower edge, in pixels of the view. */
  spot(node: number): [x: number, y: number] {
    const { tree } = this.model;
    const [from, range] = this.model.window;
    const [a, b] = [tree.left[node], tree.left[node] + tree.width[node]];
    const middle = (Math.max(a, from) + Math.min(b, from + range)) / 2;
    const y = this.rowTop(tree.depth[node] + 1) + this.row;
    return [((middle - from) / range) * this.wide, Math.min(Math.max(y, 0), this.high)];
  }

  /** The node under a point; -1 for all of it, `NOTHING` for none. */
  at(x: number, y: number): number {
    const { tree, seen, folded } = this.model;
    const { left, width, depth } = tree;
    const [from, range] = this.model.window;
    const place = from + (x / this.wide) * range;
    const down = y + this.view.scrollTop;
    const row = Math.floor((seen.upwards ? this.height - down : down) / this.row);
    if (row < 1) return -1;
    // The row of far callers leads to the farthest that is not drawn otherwise.
    const level = folded === 0 ? row : row === 1 ? folded + 1 : row + folded;
    const isUnder = (node: number) =>
      depth[node] === level - 1 && place >= left[node] && place < left[node] + width[node];
    return this.seen().nodes.find(isUnder) ?? NOTHING;
  }
}
