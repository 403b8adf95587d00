/* What is seen of a flame graph, and what can be said of it: no element and no canvas. */
import { amount, counted, grouped } from "../shared/amount";
import { kindName, kindWord, OWN, unnamedKind } from "../shared/kinds";
import { matcher } from "../shared/search";
import type { NodeSource } from "../shared/source";
import { changed, signed, step } from "./change";
import { type Course, moment, type Range } from "./course";
import { type Data, type Held, read } from "./data";
import { type Narrowest, narrowestOf } from "./narrowest";
import { HeldNodes } from "./nodes";
import { threadTree } from "./threads";
import { type Cuts, cutTree, held as heldTree, Inverted, merged, type Tree } from "./tree";

/** What a widest screen could show of a tree that grows where it is looked at. */
const FINEST = 1 / 5000;
/** No node, no kind of work. */
export const NOTHING = -9;

export type View = "graph" | "stacks" | "tree" | "table";
export const VIEWS: readonly View[] = ["graph", "stacks", "tree", "table"];
export type Colours = "change" | "package" | "category";

/** What the address remembers. */
export interface Seen {
  zoomed: number;
  words: string;
  shown: View;
  inverted: boolean;
  merged: boolean;
  upwards: boolean;
  colours: Colours;
  /** Of a difference: changes of totals, not of own values. */
  ofTotal: boolean;
  cuts: Cuts;
  /** The stretches of time that are looked at, and the thread; none and less than 0 for all. */
  range: Range | null;
  thread: number;
  /** The column that functions are sorted by, with a minus where the largest is first; none for what is usual. */
  sort: string;
}

/** A name with its values, for a tooltip. */
export interface Told {
  name: string;
  pairs: [label: string, value: string][];
}

const NOT_KEPT = { w: null, th: null };
const NO_CUTS: Cuts = { focus: -1, hidden: [], collapsed: false };

export type Key = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

/** A function and what it came to. */
export interface Flow {
  /** Less than 0 for none: it was called by nothing. */
  symbol: number;
  value: number;
}

/** A function with what called it and what it called. */
export interface Sandwich {
  total: number;
  own: number;
  calls: number;
  callers: Flow[];
  callees: Flow[];
  /** What it came to in nodes that are not there: for callers, and in callees, that nobody knows. */
  unknown: [callers: number, callees: number];
}

const escaped = (name: string) => name.replace(/[%;]/g, (c) => (c === "%" ? "%25" : "%3B"));
const unescaped = (name: string) => name.replace(/%25|%3B/g, (code) => (code === "%25" ? "%" : ";"));

export class FlameModel {
  readonly data: Data;
  /** The tree of the range and thread that are looked at, before cuts; and the one that is shown. */
  held: Tree;
  tree: Tree;
  /** The tree that the page holds: that of functions, where roots are threads. */
  readonly all: Tree;
  /** The data by functions, where roots are threads. */
  private readonly methods: Data | null;
  readonly grouping: boolean;
  readonly seen: Seen;
  readonly choices: Colours[];
  hits: Uint8Array | null = null;
  /** The kind of work that stands out. */
  lit = NOTHING;
  selected = -1;
  hovered = -1;
  /** What the window shows: where it begins and how much it is, as shares of the whole. */
  window: [from: number, range: number] = [0, 1];
  private kindsOf: { tree: Tree; sums: [kind: number, own: number][] } | null = null;
  /** Kinds of work of the whole recording, the largest first. */
  private readonly order: number[];
  private growing: Inverted | null = null;
  private kindsBySymbol: { of: Tree; nodes: Map<number, number> } | null = null;
  private lookedAt: { key: string; tree: Tree } | null = null;
  /** The range and thread that an address asks for where nodes have no times: they hold again elsewhere. */
  private kept: { w: string | null; th: string | null } = NOT_KEPT;
  private asked: { of: Tree; source: NodeSource } | null = null;
  /** What functions came to in nodes that the page has not, because they were the narrowest. */
  private readonly narrowest: ReadonlyMap<number, Narrowest>;

  /** `methods` has the same value by functions. */
  constructor(held: Held, methods: Held = held) {
    this.methods = held.dimension === "thread" ? read(methods) : null;
    this.data = this.methods ? { ...read(held), course: this.methods.course } : read(held, methods);
    const of = this.methods ?? this.data;
    this.all = this.held = this.tree = heldTree(of);
    this.narrowest = narrowestOf(held);
    const kinds = [...this.ownByKind(this.all)].sort((a, b) => b[1] - a[1]);
    this.order = kinds.map(([kind]) => kind);
    this.kindsOf = { tree: this.all, sums: kinds };
    if (this.methods) this.held = this.tree = threadTree(this.data, of, this.all);
    this.grouping = held.group.some(Boolean);
    this.choices = held.compared ? ["change", "category", "package"] : ["category", "package"];
    this.seen = {
      zoomed: -1,
      words: "",
      shown: "graph",
      inverted: false,
      merged: false,
      upwards: held.upwards,
      colours: this.choices[0],
      ofTotal: false,
      cuts: NO_CUTS,
      range: null,
      thread: -1,
      sort: "",
    };
  }

  amount(value: number): string {
    return amount(this.data.held.unit, value, this.data.held.unit_name);
  }

  share(value: number): string {
    const { total } = this.held;
    return this.data.held.merge === "sum" && total ? `${((value * 100) / total).toFixed(2)} %` : "";
  }

  /* Nodes of a tree that grows keep their ids; the others' are their places. */
  idOf(node: number): number {
    return node < 0 || !this.tree.id ? node : this.tree.id[node];
  }

  nodeOf(id: number): number {
    return id < 0 || !this.tree.id ? id : this.tree.id.indexOf(id);
  }

  refine(id: number, least: number): void {
    if (!this.growing?.refine(id, least)) return;
    const [zoomed, selected] = [this.idOf(this.seen.zoomed), this.idOf(this.selected)];
    this.tree = this.growing.flat();
    [this.seen.zoomed, this.selected, this.hovered] = [this.nodeOf(zoomed), this.nodeOf(selected), -1];
  }

  waits(node: number): boolean {
    return this.growing?.waits(this.idOf(node)) ?? false;
  }

  expand(id: number): void {
    if (this.growing?.waits(id)) this.refine(id, Math.abs(this.growing.sum[id] ?? 0));
  }

  /** Makes the tree anew after what it depends on changed; returns the names on the way to what was zoomed. */
  reshape(): string[] | null {
    const { seen } = this;
    const names = seen.zoomed < 0 ? null : this.pathOf(seen.zoomed);
    this.held = this.looked();
    const whole = this.whole();
    this.growing = seen.inverted ? new Inverted(whole, this.data) : null;
    this.growing?.refine(-1, Math.abs(this.held.total) * FINEST);
    this.tree = this.growing ? this.growing.flat() : whole;
    seen.zoomed = this.selected = this.hovered = -1;
    this.window = [0, 1];
    return names;
  }

  /** The tree of the range and thread that are looked at. */
  private looked(): Tree {
    const { range, thread } = this.seen;
    const { course, held, kinds } = this.data;
    const isWhole = !course || (!range && thread < 0);
    if (isWhole && !this.methods) return this.all;
    const key = `${range} ${thread}`;
    if (this.lookedAt?.key !== key) {
      const { data, methods, all } = this;
      const tree = methods
        ? threadTree(data, methods, all, range, thread)
        : (course as Course).tree(all, held, kinds, range ?? [0, (course as Course).size], thread);
      this.lookedAt = { key, tree };
    }
    return this.lookedAt.tree;
  }

  private whole(): Tree {
    const { cuts } = this.seen;
    let tree = this.held;
    if (this.seen.merged) tree = merged(this.held, this.data);
    const isCut = cuts.focus >= 0 || cuts.hidden.length > 0 || cuts.collapsed;
    return isCut ? cutTree(tree, this.data, cuts) : tree;
  }

  /** What answers questions about the tree that is shown. */
  get source(): NodeSource {
    if (this.asked?.of !== this.tree) this.asked = { of: this.tree, source: new HeldNodes(this.tree) };
    return this.asked.source;
  }

  /** The functions from a root down to a node. */
  symbolsOf(node: number, tree = this.tree): number[] {
    const path: number[] = [];
    for (let up = node; up >= 0; up = tree.parent[up]) path.push(tree.symbol[up]);
    return path.reverse();
  }

  pathOf(node: number, tree = this.tree): string[] {
    return this.symbolsOf(node, tree).map((symbol) => this.data.names[symbol]);
  }

  /** The node that these names lead to, or the last on the way. */
  follow(names: string[]): number {
    let at = -1;
    for (const name of names) {
      this.refine(this.idOf(at), 0);
      const { tree } = this;
      const last = at < 0 ? tree.size : tree.end[at];
      let child = at + 1;
      while (child < last && this.data.names[tree.symbol[child]] !== name) child = tree.end[child];
      if (child >= last) break;
      at = child;
    }
    return at;
  }

  /** Zooms to a node and selects it; returns its number, which a tree that grows may have changed. */
  zoom(node: number): number {
    this.seen.zoomed = node;
    this.window = [0, 1];
    if (node < 0) return node;
    this.selected = node;
    this.refine(this.idOf(node), Math.abs(this.tree.sum[node]) * FINEST);
    const { zoomed } = this.seen;
    this.window = [this.tree.left[zoomed], this.tree.width[zoomed] || 1];
    return zoomed;
  }

  /** Shows what begins at a share of the whole and is so much of it. */
  look(from: number, range: number): void {
    const bounded = Math.min(Math.max(range, 1e-7), 1);
    this.window = [Math.min(Math.max(from, 0), 1 - bounded), bounded];
    const { zoomed } = this.seen;
    const [left, width] = this.window;
    const isWithin =
      zoomed >= 0 &&
      left >= this.tree.left[zoomed] - 1e-9 &&
      left + width <= this.tree.left[zoomed] + this.tree.width[zoomed] + 1e-9;
    if (!isWithin) this.seen.zoomed = -1;
  }

  /** Rows between all and the zoomed frame, of which two are drawn. */
  get folded(): number {
    const { zoomed } = this.seen;
    return zoomed < 0 ? 0 : Math.max(0, this.tree.depth[zoomed] - 2);
  }

  /** The kind of work of a node: the number of a category, or what the function is. */
  kindOf(node: number, tree = this.tree): number {
    const { data } = this;
    if (tree.kind[node] >= 0) return tree.kind[node];
    return unnamedKind(data.kinds[tree.symbol[node]], data.colours[tree.symbol[node]]);
  }

  /** The kind of work of a function: that of the node in which it took most by itself. */
  kindOfFunction(symbol: number): number {
    if (this.kindsBySymbol?.of !== this.held) {
      const [nodes, own] = [new Map<number, number>(), new Map<number, number>()];
      for (let node = 0; node < this.held.size; node++) {
        const s = this.held.symbol[node];
        if (this.held.own[node] <= (own.get(s) ?? -1)) continue;
        own.set(s, this.held.own[node]);
        nodes.set(s, node);
      }
      this.kindsBySymbol = { of: this.held, nodes };
    }
    const node = this.kindsBySymbol.nodes.get(symbol);
    return node === undefined ? NOTHING : this.kindOf(node, this.held);
  }

  kindName(kind: number): string {
    return kindName(kind, this.data.held.categories);
  }

  /** The change that a node's colour shows, in the scale of the picture; none where the page does not know it. */
  changeOf(node: number): number | null {
    const { data, tree, seen } = this;
    if (!data.changes || !tree.base) return null;
    const { changes } = data;
    if (seen.ofTotal) return changes.grew(tree.sum[node], changes.was[node]);
    return changes.grew(tree.own[node], changes.wasOwn[node]);
  }

  stepOf(node: number): number | null {
    const change = this.changeOf(node);
    return change === null || !this.data.changes ? null : step(this.data.changes.percent(change));
  }

  /** What is said of a node. */
  tell(node: number): Told {
    const { data, tree } = this;
    if (node < 0) return { name: "all", pairs: [["total", this.amount(this.held.total)]] };
    const { sum, own, calls } = tree;
    const both = (value: number) => [this.amount(value), this.share(value)].filter(Boolean).join(" · ");
    const pairs: Told["pairs"] = [
      ["total", both(sum[node])],
      ["self", both(own[node])],
    ];
    if (calls[node]) {
      const isSelf = data.held.source === "samples";
      pairs.push([isSelf ? "samples of itself" : "calls", grouped(calls[node])]);
    }
    const change = this.changeOf(node);
    if (data.changes && change !== null) {
      const { of, was, wasOwn } = data.changes;
      const percent = data.changes.percent(change);
      const share = Number.isFinite(percent) ? `, ${signed(percent, percent.toFixed(2))} % of all before` : "";
      pairs.push(
        [of.word, `${this.amount(was[node])}, self ${this.amount(wasOwn[node])}`],
        [`change of ${this.seen.ofTotal ? "total" : "self"}`, changed(change, this.amount(change)) + share],
      );
    }
    const kind = this.kindOf(node);
    const isOwn = kind === OWN && data.held.own_packages?.length;
    pairs.push(["kind", isOwn ? `Own code: ${data.held.own_packages?.join(", ")}` : this.kindName(kind)]);
    const place = data.held.places[tree.symbol[node]];
    if (place) pairs.push(["place", place]);
    return { name: data.names[tree.symbol[node]], pairs };
  }

  describe(node: number): string {
    return this.tell(node)
      .pairs.map(([label, value]) => (label === "total" ? value : `${label} ${value}`))
      .join(" · ");
  }

  /** Searches names; returns what was found, in words. */
  find(words: string): string {
    const { data, held } = this;
    this.seen.words = words;
    this.hits = null;
    if (!words) return "";
    const test = matcher(words);
    const hits = Uint8Array.from(data.names, (name, s) => (!data.held.group[s] && test(name) ? 1 : 0));
    this.hits = hits;
    const functions = hits.reduce((sum, hit) => sum + hit, 0);
    // Of the tree as it is called, outermost matches alone: what calls itself counts once, as in the tables.
    let total = 0;
    let self = 0;
    let frames = 0;
    for (let node = 0, skip = 0; node < held.size; node++) {
      if (!hits[held.symbol[node]]) continue;
      frames++;
      self += held.own[node];
      if (node >= skip) {
        total += held.sum[node];
        skip = held.end[node];
      }
    }
    let least = "";
    hits.forEach((hit, symbol) => {
      const more = hit ? this.narrowestOf(symbol) : undefined;
      if (!more) return;
      self += more.own;
      // Of several it is not known which of these lie in each other.
      if (functions === 1) total += more.total;
      else if (more.total) least = "at least ";
    });
    const both = (value: number) => `${this.amount(value)} ${this.share(value)}`;
    const sums = data.held.merge === "sum" ? `${least}${both(Math.max(total, self))}, self ${both(self)} · ` : "";
    return `matched: ${sums}${counted(functions, "function")}, ${counted(frames, "frame")}`;
  }

  /** The match after or before the selection, around the end; less than 0 for none. */
  match(forward: boolean): number {
    const { hits, tree, selected } = this;
    if (!hits) return -1;
    for (let step = 1; step <= tree.size; step++) {
      const node = (selected + (forward ? step : -step) + 2 * tree.size) % tree.size;
      if (hits[tree.symbol[node]]) return node;
    }
    return -1;
  }

  /** What a function came to in nodes that are not there; of a part of the tree that is not known. */
  narrowestOf(symbol: number): Narrowest | undefined {
    return this.held === this.all ? this.narrowest.get(symbol) : undefined;
  }

  /** What is in no frame by itself, because those were the narrowest. */
  get inNoFrame(): number {
    if (this.held !== this.all || this.data.held.merge !== "sum") return 0;
    return Array.from(this.narrowest.values()).reduce((sum, { own }) => sum + own, 0);
  }

  /** What each kind of work came to by itself. */
  private ownByKind(tree: Tree): Map<number, number> {
    const sums = new Float64Array(this.data.held.categories.length - NOTHING);
    for (let node = 0; node < tree.size; node++) {
      if (tree.own[node]) sums[this.kindOf(node, tree) - NOTHING] += tree.own[node];
    }
    return new Map(Array.from(sums, (sum, at) => [at + NOTHING, sum] as const).filter(([, sum]) => sum !== 0));
  }

  /**
   * Kinds of work with what they came to by themselves. Their order is that of the whole recording, the largest first,
   * so that none moves when a range, a thread or a cut changes what they came to.
   */
  kinds(): [kind: number, own: number][] {
    const tree = this.growing ? this.whole() : this.tree;
    if (this.kindsOf?.tree !== tree) {
      const sums = this.ownByKind(tree);
      const all = new Set([...this.order, ...sums.keys()]);
      this.kindsOf = { tree, sums: [...all].map((kind) => [kind, sums.get(kind) ?? 0]) };
    }
    return this.kindsOf.sums;
  }

  /** Functions whose work is all of one kind. */
  functionsOf(kind: number): number[] {
    const { held } = this;
    const [found, others] = [new Set<number>(), new Set<number>()];
    for (let node = 0; node < held.size; node++) {
      (this.kindOf(node, held) === kind ? found : others).add(held.symbol[node]);
    }
    return [...found].filter((symbol) => !others.has(symbol) && !this.data.held.group[symbol]);
  }

  /** Takes cuts over, in words; the last one can be taken back. */
  cutWords(): string {
    const { cuts } = this.seen;
    const { names } = this.data;
    const parts: string[] = [];
    const { range, thread } = this.seen;
    const { course } = this.data;
    const { w, th } = this.kept;
    const lost = [w && "time", th && "threads"].filter(Boolean).join(" and ");
    if (lost) parts.push(`here ${lost} cannot be told apart: this is all of it`);
    if (course && range) parts.push(`only ${moment(course, range[0])} to ${moment(course, range[1])}`);
    if (course && thread >= 0) parts.push(`only thread ${course.threads[thread] || "without a name"}`);
    if (cuts.focus >= 0) parts.push(`only calls of ${names[cuts.focus]}`);
    if (cuts.hidden.length) {
      const said = cuts.hidden.slice(0, 3).map((s) => names[s]);
      if (cuts.hidden.length > 3) said.push(`${grouped(cuts.hidden.length - 3)} more`);
      parts.push(`hidden: ${said.join(", ")}`);
    }
    if (cuts.collapsed) parts.push("recursion collapsed");
    if (this.inNoFrame && !this.tree.base)
      parts.push(`${this.amount(this.inNoFrame)} of the narrowest frames are not drawn here`);
    const whole = range || thread >= 0 ? "what is left of time and threads" : "all";
    return parts.length ? `${parts.join("; ")}. Percentages are of ${whole}: ${this.amount(this.held.total)}.` : "";
  }

  /** Callers and callees of a function with what they came to, the largest first; recursion counts at its outermost call. */
  sandwich(symbol: number): Sandwich {
    const { held } = this;
    const callers = new Map<number, number>();
    const callees = new Map<number, number>();
    let total = 0;
    let own = 0;
    let calls = 0;
    const add = (to: Map<number, number>, s: number, value: number) => to.set(s, (to.get(s) ?? 0) + value);
    for (let node = 0, skip = 0; node < held.size; node++) {
      if (held.symbol[node] !== symbol) continue;
      own += held.own[node];
      calls += held.calls[node];
      if (node < skip) continue;
      skip = held.end[node];
      total += held.sum[node];
      const p = held.parent[node];
      add(callers, p < 0 ? -1 : held.symbol[p], held.sum[node]);
      for (let child = node + 1; child < held.end[node]; child = held.end[child]) {
        add(callees, held.symbol[child], held.sum[child]);
      }
    }
    const sorted = (of: Map<number, number>) =>
      [...of].map(([symbol, value]) => ({ symbol, value })).sort((a, b) => b.value - a.value || a.symbol - b.symbol);
    const more = this.narrowestOf(symbol) ?? { own: 0, total: 0, count: 0 };
    return {
      ...{ total: total + more.total, own: own + more.own, calls: calls + more.count },
      ...{ callers: sorted(callers), callees: sorted(callees) },
      unknown: [more.total, Math.max(more.total - more.own, 0)],
    };
  }

  /** The node that a key leads to from the selection; less than 0 for none. */
  walk(key: Key): number {
    const { tree, selected } = this;
    const { parent, end } = tree;
    const [deeper, higher] = this.seen.upwards ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
    if (selected < 0) return tree.size ? 0 : -1;
    if (key === deeper) return end[selected] > selected + 1 ? selected + 1 : selected;
    if (key === higher) return parent[selected];
    const last = parent[selected] < 0 ? tree.size : end[parent[selected]];
    if (key === "ArrowRight") return end[selected] < last ? end[selected] : selected;
    let to = selected;
    for (let node = parent[selected] + 1; node < selected; node = end[node]) to = node;
    return to;
  }

  /** Returns true if a node lies beside the window or among the callers of what is zoomed. */
  isAway(node: number): boolean {
    const { tree, seen } = this;
    const [from, range] = this.window;
    const isBeside = tree.left[node] + tree.width[node] <= from || tree.left[node] >= from + range;
    return isBeside || (seen.zoomed >= 0 && tree.depth[node] < tree.depth[seen.zoomed]);
  }

  /** The stack of the selection as people read it, or as a line of folded stacks, which knows no semicolon in names. */
  stack(folded: boolean): string {
    const names = this.pathOf(this.selected);
    const callers = this.growing ? names.reverse() : names;
    if (!folded) return callers.reverse().join("\n");
    const plain = callers.map((name) => name.replace(/;/g, ":").replace(/\s*\n\s*/g, " "));
    return `${plain.join(";")} ${this.tree.sum[this.selected]}`;
  }

  /** What the address remembers; defaults are left out. */
  state(): Record<string, string | number | null> {
    const { seen } = this;
    const { course } = this.data;
    const path = (node: number) => (node < 0 ? null : this.pathOf(node).map(escaped).join(";"));
    return {
      z: path(seen.zoomed),
      i: this.selected === seen.zoomed ? null : path(this.selected),
      k: this.lit === NOTHING ? null : kindWord(this.lit, this.data.held.categories),
      g: this.isLookedAt() ? `${Number(this.window[0].toFixed(9))}_${Number(this.window[1].toPrecision(6))}` : null,
      so: seen.sort,
      s: seen.words,
      v: seen.shown === "graph" ? null : seen.shown,
      b: seen.inverted ? 1 : null,
      m: seen.merged ? 1 : null,
      t: seen.upwards === this.data.held.upwards ? null : 1,
      c: seen.colours === this.choices[0] ? null : seen.colours,
      o: seen.ofTotal ? "total" : null,
      f: seen.cuts.focus < 0 ? null : this.data.names[seen.cuts.focus],
      h: seen.cuts.hidden.map((s) => escaped(this.data.names[s])).join(";"),
      r: seen.cuts.collapsed ? 1 : null,
      w: course && seen.range ? seen.range.map((one) => course.startOf(one)).join("_") : this.kept.w,
      th: course && seen.thread >= 0 ? course.threads[seen.thread] : this.kept.th,
    };
  }

  /** Returns true if the window is not simply that of what is zoomed. */
  private isLookedAt(): boolean {
    const { seen, tree, window } = this;
    const [left, width] = seen.zoomed < 0 ? [0, 1] : [tree.left[seen.zoomed], tree.width[seen.zoomed] || 1];
    return window[0] !== left || window[1] !== width;
  }

  /**
   * Takes over what an address remembers; returns the names on the way to what was zoomed and to what was selected, and
   * the part of it that was looked at.
   */
  recall(get: (name: string) => string | null): { zoomed: string[]; selected: string[]; window: Range | null } {
    const { seen } = this;
    const flag = (key: string) => get(key) === "1";
    seen.inverted = flag("b");
    seen.merged = this.grouping && flag("m");
    seen.upwards = this.data.held.upwards !== flag("t");
    seen.colours = this.choices.find((choice) => choice === get("c")) ?? this.choices[0];
    seen.ofTotal = get("o") === "total";
    const number = (name: string) => this.data.names.indexOf(name);
    const hidden = get("h")?.split(";") ?? [];
    seen.cuts = {
      focus: number(get("f") ?? "\0"),
      hidden: hidden.map((name) => number(unescaped(name))).filter((s) => s >= 0),
      collapsed: flag("r"),
    };
    const { course } = this.data;
    const [from, to] = (get("w") ?? "").split("_").map((ns) => (/^-?\d{1,20}$/.test(ns) ? course?.at(BigInt(ns)) : -1));
    seen.range = from !== undefined && to !== undefined && from >= 0 && to > from ? [from, to] : null;
    seen.thread = course?.threads.indexOf(get("th") ?? "\0") ?? -1;
    this.kept = course ? NOT_KEPT : { w: get("w"), th: get("th") };
    seen.sort = get("so") ?? "";
    const word = get("k");
    const isLit = (kind: number) => kindWord(kind, this.data.held.categories) === word;
    this.lit = this.order.find(isLit) ?? NOTHING;
    this.reshape();
    const path = (name: string) => get(name)?.split(";").map(unescaped) ?? [];
    const [left, width] = (get("g") ?? "").split("_").map(Number);
    const window: Range | null = left >= 0 && width > 0 ? [left, width] : null;
    return { zoomed: path("z"), selected: path("i"), window };
  }
}
