/* A flame graph in its part of the page: what is shown of it, and every way to change that. */
import { Address } from "../shared/address";
import { by } from "../shared/dom";
import { Tip } from "../shared/tip";
import type { Range } from "./course";
import { Cutting } from "./cutting";
import { type Data, type Held, recordingOf } from "./data";
import { dimensionOf, listDimensions } from "./dimensions";
import { Legend } from "./legend";
import { FlameModel, type Key, type Seen, VIEWS, type View } from "./model";
import { FlamePainter } from "./paint";
import { StackChart } from "./stacks";
import { Strip } from "./strip";
import { Switches } from "./switches";
import { FlameTable } from "./table";
import { byThread, hasThreads } from "./threads";
import { showPath } from "./trail";

/** Functions beside the graph. */
const BESIDE = 100;
/** Milliseconds from the graph to the functions beside it. */
const AFTER = 20;
/** Milliseconds after the last of many small moves, when the address takes over what is seen. */
const STILL = 250;

export class FlameGraph {
  /** One for each value, those by thread behind the others. */
  readonly values: readonly Held[];
  readonly address: Address;
  readonly tip: Tip;
  readonly paint: FlamePainter;
  readonly stacks: StackChart;
  readonly strip: Strip;
  readonly legend: Legend;
  readonly cutting: Cutting;
  readonly view: HTMLElement;
  readonly rows: HTMLElement;
  readonly search: HTMLInputElement;
  readonly canvas: HTMLCanvasElement;
  /** It is a page of its own. */
  readonly isWhole = document.body.classList.contains("whole");
  model: FlameModel;
  private readonly models: FlameModel[] = [];
  private readonly switches: Switches;
  /** The value that is shown at first. */
  private readonly first: number;
  private value: number;
  private table: FlameTable;
  /** The function beside the graph. */
  private chosen = -1;
  private remembering = 0;
  private isRecalling = false;
  private listing = 0;

  constructor(
    readonly part: HTMLElement,
    held: readonly Held[],
    life?: AbortSignal,
  ) {
    this.values = [...held, ...held.filter(hasThreads).map(byThread)];
    this.first = Math.max(
      this.values.findIndex((value) => value.total !== 0),
      0,
    );
    this.value = this.first;
    this.model = this.modelOf(this.first);
    this.address = new Address(part.id);
    this.view = by(part, "view");
    this.rows = by(part, "rows");
    this.search = by<HTMLInputElement>(part, "search");
    this.canvas = this.view.querySelector("canvas") as HTMLCanvasElement;
    this.tip = new Tip(by(part, "tip"), life);
    const { model, view, canvas } = this;
    this.paint = new FlamePainter(model, part, view, canvas, by(part, "room"), by(part, "beyond"));
    const colourOf = (kind: number) => this.paint.kindColour(kind);
    const follow = (node: number, thread: number) => this.showInGraph(node, thread);
    this.stacks = new StackChart(by(part, "stacks"), part, model, colourOf, this.tip, follow);
    this.strip = new Strip(by(part, "strip"), part, model, colourOf, (range) => this.change({ range }));
    this.table = this.newTable();
    this.legend = new Legend(this);
    this.cutting = new Cutting(this);
    this.switches = new Switches(this);
    // What is seen next has another address.
    life?.addEventListener("abort", () => clearTimeout(this.remembering));
  }

  get seen(): Seen {
    return this.model.seen;
  }

  get data(): Data {
    return this.model.data;
  }

  private modelOf(value: number): FlameModel {
    const held = this.values[value];
    const isOf = (one: Held) => one.value === held.value && dimensionOf(one) === "method";
    this.models[value] ??= new FlameModel(held, this.values.find(isOf));
    return this.models[value];
  }

  private newTable(): FlameTable {
    return new FlameTable(this.rows, this.model, {
      find: (words) => this.find(words),
      zoom: (node) => this.zoom(node),
      select: (node) => this.select(node),
      choose: (symbol) => this.choose(symbol),
      sorted: () => this.remember(),
      showGraph: () => this.show("graph"),
    });
  }

  /* Values. */

  private turnTo(value: number): void {
    this.value = value;
    this.model = this.modelOf(value);
    this.paint.show(this.model);
    this.table = this.newTable();
    const held = this.values[value];
    by<HTMLSelectElement>(this.part, "values").value = held.value;
    listDimensions(by<HTMLSelectElement>(this.part, "dimension"), this.values, held);
    this.chosen = -1;
  }

  /** Shows another value, or another dimension of one. */
  turn(value: string, dimension: string): void {
    const to = this.values.findIndex((held) => held.value === value && dimensionOf(held) === dimension);
    if (to < 0) return;
    const forgotten = Object.keys(this.model.state()).filter((key) => key !== "w" && key !== "th");
    this.address.set({ ...Object.fromEntries(forgotten.map((key) => [key, null])), val: this.numberOf(to) });
    this.recall();
  }

  /** Shows the same of the other recording. */
  turnRecording(to: string): void {
    const { data } = this;
    const at = this.values.findIndex((held) => held.value === data.held.value && recordingOf(held) === to);
    if (at < 0 || at === this.value) return;
    this.address.set({ ...this.model.state(), val: this.numberOf(at) });
    this.recall();
  }

  /* The address remembers what is seen. */

  private numberOf(value: number): number | null {
    return value === this.first ? null : value;
  }

  remember(typed = false): void {
    if (this.isRecalling) return;
    clearTimeout(this.remembering);
    this.address.set({ ...this.model.state(), val: this.numberOf(this.value) }, typed);
  }

  /** Shows what the address says. It stays as it is: a step of the history that is written here would take away those to go forward to. */
  recall(): void {
    clearTimeout(this.remembering);
    this.isRecalling = true;
    this.showRemembered();
    this.isRecalling = false;
  }

  private showRemembered(): void {
    const { address, first } = this;
    const wanted = Number(address.get("val") ?? first);
    this.turnTo(this.values[wanted] ? wanted : first);
    this.switches.listColours();
    const { model } = this;
    const { zoomed, selected, window } = model.recall((name) => address.get(name));
    const words = address.get("s") ?? "";
    const shown = address.get("v");
    this.switches.update();
    this.switches.listThreads();
    this.strip.show(model);
    this.dress();
    this.fit();
    this.paint.resize();
    this.view.scrollTop = this.seen.upwards ? this.view.scrollHeight : 0;
    if (words !== this.seen.words || this.search.value !== words) this.find(words);
    this.zoom(model.follow(zoomed), window);
    if (selected.length) this.select(model.follow(selected));
    if (this.isWhole && this.chosen < 0) this.table.sandwich(by(this.part, "sandwich"), -1);
    const isNone = shown === "stacks" && !this.data.course;
    by(this.part, "view-stacks").hidden = !this.data.course;
    this.show((!isNone && VIEWS.find((view) => view === shown)) || "graph");
  }

  /* What is shown. */

  show(shown: View): void {
    this.tip.hide();
    this.seen.shown = shown;
    this.rows.hidden = shown === "graph" || shown === "stacks";
    this.view.hidden = shown !== "graph";
    by(this.part, "low").hidden = shown !== "graph";
    by(this.part, "stacks").hidden = shown !== "stacks";
    this.switches.update();
    this.remember();
    this.drawTables();
    if (shown === "stacks") this.stacks.show(this.model);
    if (shown !== "graph") return;
    this.fit();
    this.paint.resize();
    this.paint.schedule();
  }

  change(what: Partial<Seen>): void {
    const { model, view } = this;
    Object.assign(this.seen, what);
    const isOther = "range" in what || "thread" in what;
    const isShape = "inverted" in what || "merged" in what || "cuts" in what || isOther;
    const names = isShape ? model.reshape() : null;
    this.switches.update();
    this.legend.draw();
    if (isShape) this.zoom("inverted" in what || !names ? -1 : model.follow(names));
    this.fit();
    if ("upwards" in what) view.scrollTop = this.seen.upwards ? view.scrollHeight : 0;
    this.remember();
    if (isOther) this.again();
    else this.drawTables();
    this.paint.resize();
    this.paint.schedule();
  }

  /** Says anew what depends on time and threads. */
  private again(): void {
    this.chosen = -1;
    this.find(this.seen.words);
    if (this.isWhole && this.model.selected < 0) this.table.sandwich(by(this.part, "sandwich"), -1);
    this.strip.show(this.model);
    this.stacks.show(this.model);
  }

  /** Says times anew, which are told in another zone. */
  changeZone(): void {
    this.switches.update();
    this.strip.draw();
    this.stacks.draw();
  }

  dress(): void {
    this.paint.dress();
    this.strip.dress();
    this.stacks.dress();
    this.legend.draw();
  }

  /** Gives the graph the room it needs; what is deep stands beside the tables. */
  fit(): void {
    const { view, rows } = this;
    const needed = this.paint.rows * this.paint.row;
    if (!this.isWhole) {
      view.style.height = rows.style.height = `${Math.min(480, Math.max(140, needed + 4))}px`;
      return;
    }
    const work = by(this.part, "work");
    const isDeep = needed > work.clientHeight * 0.55 && innerWidth > 1100;
    work.classList.toggle("beside", isDeep && this.seen.shown === "graph");
    const most = innerWidth > 900 ? work.clientHeight * 0.55 : work.clientHeight * 0.65;
    view.style.height = isDeep ? "auto" : `${Math.min(needed, Math.max(most, 120))}px`;
  }

  private drawTables(): void {
    this.table.update();
    if (this.isWhole && this.seen.shown === "graph") this.listFunctions();
  }

  /** Lists the functions beside the graph, which is drawn before. */
  private listFunctions(): void {
    if (this.listing) return;
    const list = () => {
      this.listing = 0;
      const place = by(this.part, "funcs");
      this.table.functions(place, BESIDE);
      this.table.mark(place, this.chosen);
    };
    this.listing = requestAnimationFrame(() => setTimeout(list, AFTER));
  }

  /* Nodes. */

  /** Zooms to a node, and shows a part of it where a window is given. */
  zoom(to: number, window: Range | null = null): void {
    const { model, paint } = this;
    this.tip.hide();
    const node = model.zoom(to);
    if (window) model.look(...window);
    showPath(this, node);
    this.tell(node < 0 ? model.selected : node);
    if (node >= 0) this.choose(model.tree.symbol[node]);
    this.remember();
    this.fit();
    paint.resize();
    paint.reveal(node < 0 ? 0 : model.tree.depth[node] + 1);
    paint.schedule();
  }

  /** Shows what begins at a share of the whole and is so much of it. */
  lookAt(from: number, range: number): void {
    this.model.look(from, range);
    showPath(this, this.seen.zoomed);
    this.fit();
    this.paint.resize();
    this.paint.schedule();
    clearTimeout(this.remembering);
    this.remembering = window.setTimeout(() => this.remember(), STILL);
  }

  select(node: number): void {
    this.model.selected = node;
    this.tell(node);
    if (node >= 0) this.choose(this.model.tree.symbol[node]);
    this.remember();
    this.paint.schedule();
  }

  walk(key: Key): void {
    const { model } = this;
    const to = model.walk(key);
    this.view.focus({ preventScroll: true });
    if (to < 0) return;
    this.select(to);
    if (model.isAway(to)) this.zoom(to);
    this.paint.reveal(model.tree.depth[model.selected] + 1);
  }

  /** Shows callers and callees of a function. */
  choose(symbol: number): void {
    if (!this.isWhole || symbol === this.chosen) return;
    this.chosen = symbol;
    this.table.sandwich(by(this.part, "sandwich"), symbol);
    this.table.mark(by(this.part, "funcs"), symbol);
  }

  /** The function of the selected node. */
  get symbol(): number {
    const { selected, tree } = this.model;
    return selected < 0 ? -1 : tree.symbol[selected];
  }

  private tell(node: number): void {
    const { model, data, part } = this;
    const told = by(part, "told");
    const name = node < 0 ? "" : `${data.names[model.tree.symbol[node]]}: `;
    told.textContent = name + model.describe(node);
    told.title = told.textContent;
    for (const name of ["copy-stack", "copy-folded"]) by<HTMLButtonElement>(part, name).disabled = node < 0;
  }

  /** Shows a node of the stacks over time, of a thread, in the graph. */
  private showInGraph(node: number, thread: number): void {
    const { model, data } = this;
    const isByThread = dimensionOf(data.held) === "thread";
    const root = isByThread ? [data.course?.threads[thread] || "(no thread)"] : [];
    this.show("graph");
    this.zoom(model.follow([...root, ...model.pathOf(node, model.all)]));
  }

  /* The search. */

  find(words: string): void {
    const { search, part, model } = this;
    this.tip.hide();
    if (search.value.trim() !== words) search.value = words;
    const matched = by(part, "matched");
    matched.textContent = matched.title = model.find(words);
    for (const name of ["previous", "next"]) by<HTMLButtonElement>(part, name).disabled = !model.hits;
    this.remember(true);
    this.drawTables();
    this.paint.schedule();
    this.stacks.draw();
  }

  /** Selects the next or the previous match. */
  step(forward: boolean): void {
    const { model } = this;
    const node = model.match(forward);
    if (node < 0) return;
    this.select(node);
    if (model.isAway(node)) this.zoom(-1);
    this.select(node);
    this.paint.reveal(model.tree.depth[node] + 1);
  }
}
