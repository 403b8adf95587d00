/* The twins of the graph in rows, for keyboards and screen readers: the functions, and the tree. */
import { counted, grouped } from "../shared/amount";
import { button, cellBar, named, nameOf } from "../shared/dom";
import { kindToken } from "../shared/kinds";
import { exactly } from "../shared/search";
import { changed } from "./change";
import type { FlameModel, Flow } from "./model";
import { JOIN, type Tree } from "./tree";

/** Rows at once; buttons bring more. */
const MANY = 500;

/** What rows do with the graph. */
export interface Actions {
  find(words: string): void;
  zoom(node: number): void;
  select(node: number): void;
  showGraph(): void;
  /** Shows callers and callees of a function. */
  choose(symbol: number): void;
  /** Other rows stand first. */
  sorted(): void;
}

interface Sums {
  s: number;
  own: number;
  sum: number;
  count: number;
  met: boolean;
}
const COLUMNS = ["own", "sum", "count", "name"] as const;
const COMPARED = ["change", "before", "after", "name"] as const;
type Column = (typeof COLUMNS)[number];
type Compared = (typeof COMPARED)[number];

/** The column that rows are sorted by. */
interface Sorted<K extends string> {
  order: K;
  falling: boolean;
}

/** Callers or callees at once. */
const FLOWS = 12;
/** Calls or samples under which a change says nothing. */
const FEW = 20;

/** By how many percent a value grew, as `diff` says it; from three times on, how many times it is. */
function percentOf(before: number, after: number, held: number): string {
  if (before === 0) return held === 0 ? "-" : "new";
  if (held === 0) return "gone";
  const percent = ((after - before) * 100) / Math.abs(before);
  if (percent >= 200) return `× ${(1 + percent / 100).toFixed(1)}`;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
}

const chanceOf = (chance: number | null): string =>
  chance === null ? "" : chance < 0.0001 ? "<0.0001" : chance.toFixed(4);

/** Functions with the sums of `top`: of what calls itself, the outermost frame counts. */
export function totals(model: FlameModel): Sums[] {
  const { held, data } = model;
  const { merge, group } = data.held;
  const rows: Sums[] = data.names.map((_, s) => ({ s, own: 0, sum: 0, count: 0, met: false }));
  const join = JOIN[merge];
  const open = new Int32Array(rows.length);
  const path: number[] = [];
  const isFresh = rows.map(() => true);
  for (let node = 0; node < held.size; node++) {
    while (path.length > held.depth[node]) open[path.pop() as number]--;
    const s = held.symbol[node];
    const row = rows[s];
    const calls = held.calls[node];
    const isOutermost = open[s]++ === 0;
    path.push(s);
    // A value that nobody recorded has no part in a minimum or maximum.
    if (merge === "sum" || calls || !row.met) {
      const isFirst = !row.met || (merge !== "sum" && !row.count);
      row.own = isFirst ? held.own[node] : join(row.own, held.own[node]);
    }
    if (isOutermost || merge !== "sum") {
      row.sum = isFresh[s] ? held.sum[node] : join(row.sum, held.sum[node]);
      isFresh[s] = false;
    }
    row.count += calls;
    row.met = true;
  }
  for (const row of rows) {
    const more = model.narrowestOf(row.s);
    if (!more) continue;
    row.own += more.own;
    row.sum += more.total;
    row.count += more.count;
    row.met = true;
  }
  return rows.filter((row) => row.met && !group[row.s]);
}

export class FlameTable {
  private sums: { of: Tree; rows: Sums[] } | null = null;
  private most = MANY;
  private body: HTMLTableSectionElement | null = null;

  constructor(
    private readonly place: HTMLElement,
    private readonly model: FlameModel,
    private readonly actions: Actions,
  ) {}

  show(): void {
    if (this.model.seen.shown === "tree") this.grid();
    else this.functions();
  }

  update(): void {
    if (this.model.seen.shown === "tree" || this.model.seen.shown === "table") this.show();
  }

  /** The functions into a place, at most so many of them; diffs compare both recordings. */
  functions(place = this.place, most = this.most): void {
    if (this.model.data.changes) this.compared(place, most);
    else this.summed(place, most);
  }

  private more(place: HTMLElement, rows: number, most: number, said = ""): void {
    if (rows <= most) return;
    const more = () => {
      this.most += MANY;
      this.functions(place, Math.max(this.most, most + MANY));
    };
    const press = button(`${counted(rows - most, "more function")}${said}`, more);
    press.classList.add("btn");
    place.append(press);
  }

  private nameCell(symbol: number): HTMLTableCellElement {
    const name = this.model.data.names[symbol];
    const cell = named("td", "", "text name x");
    const press = button("", () => {
      if (this.model.seen.shown === "graph") return this.actions.choose(symbol);
      this.actions.find(exactly(name));
      this.actions.showGraph();
    });
    press.title = name;
    press.append(...(name ? nameOf(name) : ["(no name)"]));
    cell.append(press);
    return cell;
  }

  private head<K extends string>(
    place: HTMLElement,
    heads: readonly (readonly [text: string, key: K | null, kind?: string])[],
    sorted: Sorted<string>,
    sort: (key: K) => void,
  ): HTMLTableRowElement {
    const line = document.createElement("tr");
    for (const [text, key, kind = ""] of heads) {
      const cell = named("th", "", key === "name" ? "text" : kind);
      cell.scope = "col";
      if (key) {
        const press = () => {
          sort(key);
          place.querySelector<HTMLElement>("th[aria-sort]:not([aria-sort=none]) button")?.focus();
        };
        cell.append(button(text, press));
        cell.ariaSort = key !== sorted.order ? "none" : sorted.falling ? "descending" : "ascending";
      } else cell.append(named("span", text, text.endsWith(" %") ? "share" : ""));
      line.append(cell);
    }
    return line;
  }

  /** What the rows are sorted by: the first of the columns, the largest first, unless another was chosen. */
  private sorted<K extends string>(columns: readonly K[]): Sorted<K> {
    const { sort } = this.model.seen;
    const order = columns.find((key) => key === sort.replace("-", ""));
    return order ? { order, falling: sort.startsWith("-") } : { order: columns[0], falling: true };
  }

  private sort<K extends string>(to: K, columns: readonly K[]): void {
    const { order, falling } = this.sorted(columns);
    const isFalling = order === to ? !falling : to !== "name";
    const isUsual = to === columns[0] && isFalling;
    this.model.seen.sort = isUsual ? "" : `${isFalling ? "-" : ""}${to}`;
    this.actions.sorted();
  }

  /** Marks the row of a function. */
  mark(place: HTMLElement, symbol: number): void {
    place.querySelector("tr.chosen")?.classList.remove("chosen");
    place.querySelector(`tr[data-symbol="${symbol}"]`)?.classList.add("chosen");
  }

  private get isByKind(): boolean {
    return this.model.seen.colours === "category";
  }

  private summed(place: HTMLElement, most: number): void {
    const { model } = this;
    const { data, hits } = model;
    const { order, falling } = this.sorted(COLUMNS);
    if (this.sums?.of !== model.held) this.sums = { of: model.held, rows: totals(model) };
    const name = (row: Sums) => data.names[row.s];
    const byName = (a: Sums, b: Sums) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0);
    const size = (row: Sums, key: "own" | "sum" | "count") => Math.abs(row[key]);
    const first = order === "name" ? byName : (a: Sums, b: Sums) => size(a, order) - size(b, order);
    // The order of `top`: what fell by much stands beside what grew by much.
    const byValue = (a: Sums, b: Sums) =>
      size(b, "own") - size(a, "own") || size(b, "sum") - size(a, "sum") || b.own - a.own || b.sum - a.sum;
    const rows = this.sums.rows.filter((row) => !hits || hits[row.s]);
    rows.sort((a, b) => (falling ? -1 : 1) * first(a, b) || byValue(a, b) || byName(a, b));
    const table = document.createElement("table");
    const body = table.createTBody();
    const heads: [string, Column | null, string?][] = [
      ["self", "own"],
      ["self %", null],
      ["total", "sum"],
      ["total %", null, "of-sum"],
      [data.held.source === "samples" ? "samples of itself" : data.held.source, "count", "count"],
      ["function", "name"],
    ];
    const sort = (key: Column) => {
      this.sort(key, COLUMNS);
      this.functions(place, most);
    };
    table.createTHead().append(this.head(place, heads, { order, falling }, sort));
    const widest = {
      own: rows.reduce((widest, row) => Math.max(widest, row.own), 0),
      sum: rows.reduce((widest, row) => Math.max(widest, row.sum), 0),
    };
    for (const row of rows.slice(0, most)) {
      const cells = body.insertRow();
      cells.dataset.symbol = String(row.s);
      for (const key of ["own", "sum"] as const) {
        const share = named("td", "", `of-${key}`);
        share.append(named("span", model.share(row[key]), "share"));
        const kind = key === "own" && this.isByKind ? kindToken(model.kindOfFunction(row.s), data.held.categories) : "";
        if (widest[key] > 0) share.append(cellBar([[0, row[key] / widest[key], kind]]));
        cells.append(named("td", model.amount(row[key])), share);
      }
      cells.append(named("td", grouped(row.count), "dim count"), this.nameCell(row.s));
    }
    pressRows(body);
    place.replaceChildren(table);
    const rest = rows.slice(most).reduce((sum, row) => sum + row.own, 0);
    this.more(place, rows.length, most, data.held.merge === "sum" ? `, self ${model.amount(rest)}` : "");
  }

  /** Both recordings, function by function, as `diff` prints them. */
  private compared(place: HTMLElement, most: number): void {
    const { model } = this;
    const { data, hits, seen } = model;
    const { changes } = data;
    if (!changes) return;
    const key = seen.ofTotal ? "total" : "own";
    const chances = seen.ofTotal ? changes.of.total_chance : changes.of.own_chance;
    const rows = Array.from(changes.symbols, (s, at) => {
      const before = changes.ofBefore(changes.before[key][at]);
      const after = changes.ofAfter(changes.after[key][at]);
      return { s, at, before, after, change: after - before };
    }).filter((row) => !hits || hits[row.s]);
    const { order, falling } = this.sorted(COMPARED);
    const by: Record<Compared, (row: (typeof rows)[number]) => number> = {
      change: (row) => Math.abs(row.change),
      before: (row) => row.before,
      after: (row) => row.after,
      name: () => 0,
    };
    const byName = (a: number, b: number) =>
      data.names[a] < data.names[b] ? -1 : data.names[a] > data.names[b] ? 1 : 0;
    const sign = falling ? -1 : 1;
    rows.sort((a, b) => {
      const first = order === "name" ? byName(a.s, b.s) : by[order](a) - by[order](b);
      return sign * first || byName(a.s, b.s);
    });
    const isSampled = chances.some((chance) => chance !== null);
    const things = data.held.source;
    const heads: [string, Compared | null, string?][] = [
      [`change of ${seen.ofTotal ? "total" : "self"}`, "change"],
      ["%", null, "share"],
      ...(isSampled ? ([["chance", null]] as [string, null][]) : []),
      ["before", "before"],
      ["after", "after"],
      [`${things} before`, null, "count"],
      ["after", null, "count"],
      ["function", "name"],
    ];
    const sort = (to: Compared) => {
      this.sort(to, COMPARED);
      this.functions(place, most);
    };
    const table = document.createElement("table");
    table.createTHead().append(this.head(place, heads, { order, falling }, sort));
    const body = table.createTBody();
    const largest = rows.reduce((most, row) => Math.max(most, Math.abs(row.change)), 0);
    for (const { s, at, before, after, change } of rows.slice(0, most)) {
      const row = body.insertRow();
      row.dataset.symbol = String(s);
      const counts = [changes.before.count[at], changes.after.count[at]];
      // So seldom seen, a function may as well have changed by chance.
      if (Math.max(...counts) < FEW) row.className = "few";
      const half = largest > 0 ? Math.abs(change) / largest / 2 : 0;
      const cell = named(
        "td",
        changed(change, changes.shown(change)),
        change > 0 ? "slower" : change < 0 ? "faster" : "",
      );
      cell.append(cellBar([change > 0 ? [0.5, half, "s"] : [0.5 - half, half, "f"]], 0.5));
      row.append(cell, named("td", percentOf(before, after, changes.after[key][at]), "dim share"));
      if (isSampled) row.append(named("td", chanceOf(chances[at]), "dim"));
      row.append(named("td", changes.shown(before)), named("td", changes.shown(after)));
      for (const count of counts) row.append(named("td", grouped(count), "dim count"));
      row.append(this.nameCell(s));
    }
    pressRows(body);
    place.replaceChildren(table);
    this.more(place, rows.length, most);
  }

  /** Callers and callees of a function. */
  sandwich(place: HTMLElement, symbol: number): void {
    const { model } = this;
    const { data } = model;
    if (symbol < 0) {
      place.replaceChildren(named("p", "Select a frame to see its callers and what it calls.", "empty"));
      return;
    }
    const of = model.sandwich(symbol);
    const things = data.held.source === "samples" ? "samples of itself" : "calls";
    const said = [model.amount(of.total), model.share(of.total)].filter(Boolean).join(" · ");
    const heading = named("h2", data.forms(symbol)[0]);
    heading.title = data.names[symbol];
    heading.append(" ", named("span", `${said}, self ${model.amount(of.own)}, ${grouped(of.calls)} ${things}`));
    const list = (title: string, flows: Flow[], unknown: number) => {
      const table = document.createElement("table");
      const line = table.createTHead().insertRow();
      line.append(named("th", title), named("th", "%"), named("th", counted(flows.length, "function"), "text"));
      const body = table.createTBody();
      for (const { symbol, value } of flows.slice(0, FLOWS)) {
        const row = body.insertRow();
        const share = named("td", model.share(value));
        if (of.total > 0) share.append(cellBar([[0, value / of.total, ""]]));
        row.append(named("td", model.amount(value)), share);
        row.append(symbol < 0 ? named("td", "nothing: it is a root", "text x dim3") : this.nameCell(symbol));
      }
      const rest = flows.slice(FLOWS);
      if (rest.length) {
        const row = body.insertRow();
        const sum = rest.reduce((sum, flow) => sum + flow.value, 0);
        row.append(named("td", model.amount(sum)), named("td", model.share(sum)));
        row.append(
          named("td", `${grouped(rest.length)} more ${rest.length === 1 ? "function" : "functions"}`, "text dim3"),
        );
      }
      if (unknown > 0) {
        const row = body.insertRow();
        row.append(named("td", model.amount(unknown)), named("td", model.share(unknown)));
        row.append(named("td", "in the narrowest frames, which are not held", "text dim3"));
      }
      return table;
    };
    const [above, below] = of.unknown;
    place.replaceChildren(heading, list("called by", of.callers, above), list("calls", of.callees, below));
  }

  /* The tree as a grid whose rows open: right opens, left closes or goes to the caller, Enter zooms the graph. */

  private childrenOf(node: number): number[] {
    const { end, size } = this.model.tree;
    const list: number[] = [];
    const last = node < 0 ? size : end[node];
    for (let child = node + 1; child < last; child = end[child]) list.push(child);
    return list;
  }

  private rowsOf(node: number, from: number): HTMLTableRowElement[] {
    const { model } = this;
    const { tree, data, hits } = model;
    const all = this.childrenOf(node);
    const rows = all.slice(from, from + MANY).map((child, i) => {
      const row = document.createElement("tr");
      const s = tree.symbol[child];
      row.role = "row";
      row.tabIndex = -1;
      row.dataset.id = String(model.idOf(child));
      row.ariaLevel = String(tree.depth[child] + 1);
      row.ariaSetSize = String(all.length);
      row.ariaPosInSet = String(from + i + 1);
      // In a tree that grows a row may turn out to have no callers once it is opened.
      const isLeaf = tree.end[child] === child + 1 && !model.waits(child) && !tree.cut?.[child];
      if (!isLeaf) row.ariaExpanded = "false";
      if (hits?.[s]) row.className = "found";
      const name = named("td", "", "text name");
      const twist = named("span", isLeaf ? "" : "▸", "twist");
      twist.ariaHidden = "true";
      name.style.paddingLeft = `${10 + Math.min(tree.depth[child], 60) * 14}px`;
      name.append(twist, data.names[s]);
      name.title = data.names[s];
      row.append(name);
      const both = (value: number) => [model.amount(value), model.share(value)];
      for (const text of [...both(tree.sum[child]), ...both(tree.own[child]), grouped(tree.calls[child])]) {
        row.append(named("td", text));
      }
      for (const cell of row.cells) cell.role = "gridcell";
      return row;
    });
    if (all.length > from + MANY) rows.push(this.rowOfMore(node, from + MANY, all.length));
    else if (node >= 0 && tree.cut?.[node]) rows.push(this.rowOfCut(node, tree.cut[node]));
    return rows;
  }

  /** What a frame came to in callees that are not there. */
  private rowOfCut(node: number, sum: number): HTMLTableRowElement {
    const { model } = this;
    const row = document.createElement("tr");
    const level = model.tree.depth[node] + 1;
    row.role = "row";
    row.tabIndex = -1;
    row.ariaLevel = String(level + 1);
    const name = named("td", "narrower frames, which are not held", "text dim3");
    name.style.paddingLeft = `${10 + Math.min(level, 60) * 14}px`;
    row.append(name, named("td", model.amount(sum)), named("td", model.share(sum)));
    for (let at = 0; at < 3; at++) row.append(named("td"));
    for (const cell of row.cells) cell.role = "gridcell";
    return row;
  }

  private rowOfMore(node: number, from: number, all: number): HTMLTableRowElement {
    const row = document.createElement("tr");
    const cell = named("td", "", "text");
    row.ariaLevel = String(node < 0 ? 1 : this.model.tree.depth[node] + 2);
    row.role = "row";
    cell.role = "gridcell";
    cell.colSpan = 6;
    const id = this.model.idOf(node);
    const press = () => {
      const more = this.rowsOf(this.model.nodeOf(id), from);
      row.replaceWith(...more);
      this.focus(more[0]);
    };
    cell.append(button(`Show more of ${grouped(all)}`, press));
    row.append(cell);
    return row;
  }

  private open(row: HTMLElement): void {
    if (row.ariaExpanded !== "false") return;
    const id = Number(row.dataset.id);
    this.model.expand(id);
    const rows = this.rowsOf(this.model.nodeOf(id), 0);
    row.ariaExpanded = "true";
    twistOf(row).textContent = rows.length ? "▾" : "";
    row.after(...rows);
  }

  private close(row: HTMLElement): void {
    row.ariaExpanded = "false";
    twistOf(row).textContent = "▸";
    for (let next = after(row); next && levelOf(next) > levelOf(row); next = after(row)) next.remove();
  }

  private focus(row: HTMLElement | null, quietly = false): void {
    if (!row || !this.body) return;
    this.body.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    row.tabIndex = 0;
    if (!quietly) (row.querySelector("button") ?? row).focus();
    if (row.dataset.id) this.actions.select(this.model.nodeOf(Number(row.dataset.id)));
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const row = target.closest("tr");
    const { body } = this;
    if (!row || !body) return;
    const isOpen = row.ariaExpanded === "true";
    const caller = () => {
      let up: HTMLElement | null = row;
      while (up && levelOf(up) >= levelOf(row)) up = before(up);
      return up;
    };
    const moves: Record<string, () => void> = {
      ArrowDown: () => this.focus(after(row)),
      ArrowUp: () => this.focus(before(row)),
      Home: () => this.focus(body.firstElementChild as HTMLElement),
      End: () => this.focus(body.lastElementChild as HTMLElement),
      ArrowRight: () => (isOpen ? this.focus(after(row)) : this.open(row)),
      ArrowLeft: () => (isOpen ? this.close(row) : this.focus(caller())),
      Enter: () => {
        if (!row.dataset.id) return;
        this.actions.zoom(this.model.nodeOf(Number(row.dataset.id)));
        this.actions.showGraph();
      },
    };
    const move = moves[event.key];
    if (!move || (target.closest("button") && event.key === "Enter")) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  private grid(): void {
    const { model, place } = this;
    const table = document.createElement("table");
    const line = table.createTHead().insertRow();
    table.role = "treegrid";
    table.ariaLabel = "Tree of calls. Right opens a row, left closes it, Enter zooms the graph.";
    line.role = "row";
    for (const text of ["function", "total", "total %", "self", "self %", model.data.held.source]) {
      const cell = named("th", text, text === "function" ? "text" : "");
      cell.role = "columnheader";
      line.append(cell);
    }
    const body = (this.body = table.createTBody());
    body.append(...this.rowsOf(-1, 0));
    place.replaceChildren(table);
    let row = body.firstElementChild as HTMLElement | null;
    const way = this.way();
    for (const id of way) {
      const found = body.querySelector<HTMLElement>(`[data-id="${id}"]`);
      if (!found) break;
      if (id !== way.at(-1)) this.open(found);
      row = found;
    }
    if (row) {
      this.focus(row, true);
      row.scrollIntoView({ block: "nearest" });
    }
    table.addEventListener("keydown", (event) => this.onKey(event));
    table.addEventListener("click", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("tbody tr");
      if (!row?.dataset.id) return;
      this.focus(row);
      if (row.ariaExpanded === "true") this.close(row);
      else this.open(row);
    });
  }

  /** Ids of the nodes down to the frame that is selected in the graph, or along the widest callees. */
  private way(): number[] {
    const { tree, selected } = this.model;
    let last = selected;
    if (last < 0) {
      const isWide = (node: number) => node === 0 || tree.sum[node] * 2 >= tree.sum[tree.parent[node]];
      for (let node = 0; node < tree.size && isWide(node) && tree.parent[node] === last; node++) last = node;
    }
    const way: number[] = [];
    for (let up = last; up >= 0; up = tree.parent[up]) way.unshift(this.model.idOf(up));
    return way;
  }
}

/** A press anywhere in a row is one on its name. */
function pressRows(body: HTMLTableSectionElement): void {
  body.addEventListener("click", ({ target }) => {
    const element = target as Element;
    if (element.closest("button") || !getSelection()?.isCollapsed) return;
    element.closest("tr")?.querySelector<HTMLElement>(".name button")?.click();
  });
}

const levelOf = (row: Element) => Number(row.ariaLevel);
const after = (row: Element) => row.nextElementSibling as HTMLElement | null;
const before = (row: Element) => row.previousElementSibling as HTMLElement | null;
const twistOf = (row: Element) => row.querySelector(".twist") ?? row;
