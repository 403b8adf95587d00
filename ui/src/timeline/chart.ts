/* A timeline in its part of the page: what is shown of it, and every way to change that. */
import { by } from "../shared/dom";
import { cutStrips, dropStrips } from "../shared/strips";
import { isPrinting, widthOf } from "../shared/theme";
import { Tip } from "../shared/tip";
import { isLocalZone } from "../shared/zone";
import { type Held, halves } from "./data";
import { ORDERS } from "./layout";
import { Legend } from "./legend";
import { Measuring } from "./measuring";
import { HEAD, TimelineModel } from "./model";
import { Overview } from "./overview";
import { TimelinePainter } from "./paint";
import { Remembered } from "./remembered";
import { onPaper } from "./sheet";
import { showTracks } from "./table";
import type { TileRequests } from "./tile_requests";
import { Words } from "./words";

/** Nanoseconds that are shown at least around an item. */
const LEAST = 1000;

export class TimelineChart {
  readonly model: TimelineModel;
  readonly words: Words;
  readonly tip: Tip;
  readonly paint: TimelinePainter;
  readonly overview: Overview;
  readonly legend: Legend;
  readonly measuring: Measuring;
  readonly remembered: Remembered;
  readonly view: HTMLElement;
  readonly rows: HTMLElement;
  readonly details: HTMLElement;
  readonly search: HTMLInputElement;
  readonly order: HTMLSelectElement;
  readonly canvas: HTMLCanvasElement;
  /** Asks for what the page does not hold one by one. */
  requests: TileRequests | null = null;
  /** Where the pointer is, in pixels of the plot. */
  pointer: number | null = null;
  /** Pixels of the gutter with the names of tracks. */
  gutter = 208;
  private waiting = 0;

  constructor(
    readonly part: HTMLElement,
    held: Held,
    bits: readonly string[],
    life?: AbortSignal,
  ) {
    this.model = new TimelineModel(held, bits);
    this.words = new Words(this.model);
    this.view = by(part, "view");
    this.rows = by(part, "rows");
    this.details = by(part, "details");
    this.search = by<HTMLInputElement>(part, "search");
    this.order = by<HTMLSelectElement>(part, "order");
    this.canvas = this.view.querySelector("canvas") as HTMLCanvasElement;
    this.tip = new Tip(by(part, "tip"), life);
    const { model } = this;
    this.paint = new TimelinePainter(this.canvas, part, model, this.words);
    const whole = by(part, "overview").querySelector("canvas") as HTMLCanvasElement;
    this.overview = new Overview(whole, part, model, (start, share) => {
      const { h, l } = halves(BigInt(Math.floor(start * model.longest)));
      this.showWindow(h, l, Math.max(share * model.longest, 4));
    });
    this.measuring = new Measuring(this);
    this.legend = new Legend(this);
    this.remembered = new Remembered(this, life);
  }

  /* Drawing. */

  draw(): void {
    this.waiting = 0;
    this.paint.draw(isPrinting() ? 0 : this.view.scrollTop);
    this.overview.draw();
  }

  schedule(): void {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.draw());
  }

  remember(): void {
    this.remembered.later();
  }

  arrange(): number {
    const height = this.model.layout.arrange(this.model.high) + HEAD + this.model.layout.pinnedHeight;
    by(this.part, "room").style.height = `${height}px`;
    return height;
  }

  resize(): void {
    const { model, view, part, canvas } = this;
    model.wide = Math.max(widthOf(view), 120);
    model.high = Math.max(view.clientHeight, 60);
    model.left = Math.min(this.gutter, Math.round(model.wide * 0.4));
    const height = this.arrange();
    if (isPrinting()) model.high = onPaper(part, model, height, HEAD + model.layout.pinnedHeight);
    this.paint.resize();
    model.normalise();
    this.draw();
    const top = HEAD + model.layout.pinnedHeight;
    if (isPrinting())
      cutStrips(canvas, model.high, [top, ...model.layout.lines.map((line) => top + line.top + line.height)]);
    else dropStrips(canvas);
  }

  dress(): void {
    this.paint.dress();
    this.overview.dress();
  }

  /** Says times anew, which are told in another zone. */
  changeZone(): void {
    const { words, model } = this;
    words.isLocal = isLocalZone();
    if (model.selected >= 0) this.details.replaceChildren(...words.details(model.selected));
    this.schedule();
  }

  /* The window. */

  private changed(): void {
    this.model.normalise();
    this.schedule();
    this.remember();
    this.requests?.later();
  }

  move(pixels: number): void {
    this.model.view.l += pixels * this.model.perPixel;
    this.changed();
  }

  zoom(factor: number, at = this.model.plot / 2): void {
    this.model.zoom(factor, at);
    this.changed();
  }

  showWindow(h: number, l: number, span: number): void {
    Object.assign(this.model.view, { h, l, span });
    this.changed();
  }

  showAll(): void {
    const { longest } = this.model;
    this.showWindow(0, -longest * 0.01, longest * 1.02 + 1);
  }

  zoomTo(item: number): void {
    const { model } = this;
    const length = Number(model.lengthOf(item));
    // Of a moment as much is shown around it as helps to know where it is.
    const span = length ? Math.max(length * 1.2, LEAST) : Math.max(model.view.span / 100, LEAST);
    this.showWindow(model.t.sh[item], model.t.sl[item] - (span - length) / 2, span);
  }

  zoomToSelected(): void {
    if (this.model.selected >= 0) this.zoomTo(this.model.selected);
  }

  /* Items. */

  select(item: number, reveal: "near" | "here" | "" = ""): void {
    const { model, details } = this;
    this.tip.hide();
    model.selected = item;
    if (item < 0) details.textContent = "Press a span for its details; ? lists the keys.";
    else {
      model.track = model.trackOf(item).key;
      details.replaceChildren(...this.words.details(item));
      if (reveal) this.reveal(item, reveal);
    }
    this.schedule();
    this.remember();
  }

  /** Brings an item into the view. */
  private reveal(item: number, reveal: "near" | "here"): void {
    const { model, view } = this;
    const track = model.trackOf(item);
    const isFolded = model.layout.folded.delete(track.key);
    if (model.layout.openIdle(track) || isFolded) this.arrange();
    const spot = model.spot(item, model.layout.lines);
    const top = view.scrollTop;
    const room = model.high - HEAD - model.layout.pinnedHeight;
    if (spot && spot.top < top) view.scrollTop = spot.top - 20;
    else if (spot && spot.top + spot.height > top + room) view.scrollTop = spot.top + spot.height - room + 20;
    const { t } = model;
    const from = model.place(t.sh[item], t.sl[item]);
    const to = model.place(t.eh[item], t.el[item]);
    const length = model.lengthOf(item);
    const isNarrow = reveal === "near" && length > 0 && to - from < 4;
    if (to < 20 || from > model.plot - 20 || isNarrow) {
      const span = isNarrow ? Math.max(Number(length) * 8, LEAST) : model.view.span;
      const { h, l } = halves(model.startOf(item) + length / 2n);
      this.showWindow(h, l - span / 2, span);
    }
  }

  find(what: string): void {
    const { search, part, model } = this;
    if (search.value.trim() !== what) search.value = what;
    by(part, "matched").textContent = model.find(what);
    for (const name of ["previous", "next"]) by<HTMLButtonElement>(part, name).disabled = !model.hasMatch;
    this.remember();
    this.schedule();
  }

  /** Selects the next or the previous match. */
  step(forward: boolean): void {
    const item = this.model.match(forward);
    if (item >= 0) this.select(item, "near");
  }

  /* Tracks. */

  /** Pins a track above the others, or lets it go. */
  pin(key: string): void {
    const { pinned } = this.model.layout;
    const at = pinned.indexOf(key);
    if (at < 0) pinned.push(key);
    else pinned.splice(at, 1);
    this.arrange();
    if (!this.rows.hidden) this.listTracks();
    this.remember();
    this.schedule();
  }

  fold(key: string): void {
    this.model.layout.toggle(key);
    this.arrange();
    this.remember();
    this.schedule();
  }

  /** Draws the track that was looked at last in full, or small. */
  open(on: boolean): void {
    const { layout, track: key } = this.model;
    const line = layout.lines.find((line) => line.key === key);
    if (line?.folds && line.folded === on) this.fold(key);
  }

  sort(order: string): void {
    this.model.layout.order = ORDERS.find((one) => one === order) ?? ORDERS[0];
    this.arrange();
    if (!this.rows.hidden) this.listTracks();
    this.remember();
    this.schedule();
  }

  private listTracks(): void {
    showTracks(this.rows, this.model, this.words, {
      choose: (track) => {
        this.model.track = track.key;
        this.listTracks();
        this.remember();
      },
      select: (item) => {
        this.showTable(false);
        this.select(item, "near");
        this.view.focus();
      },
      pin: (key) => this.pin(key),
    });
  }

  /** Shows the tracks as a table, or the drawing. */
  showTable(on: boolean): void {
    this.rows.hidden = !on;
    this.view.hidden = on;
    by(this.part, "as-table").setAttribute("aria-pressed", String(on));
    if (on) this.listTracks();
    else this.resize();
    this.remember();
  }

  toggleTable(): void {
    this.showTable(!!this.rows.hidden);
  }
}
