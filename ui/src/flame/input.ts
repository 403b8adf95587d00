/* The elements around a flame graph, the mouse and the keys. */
import { Address } from "../shared/address";
import { counted } from "../shared/amount";
import { by, copy, named, stepFocus, until } from "../shared/dom";
import { isMenuKey, onMenu, openMenu } from "../shared/menu";
import { Pinch } from "../shared/pinch";
import { dropStrips } from "../shared/strips";
import { isPrinting, onRedraw, switchTheme } from "../shared/theme";
import { Tip } from "../shared/tip";
import { toast } from "../shared/toast";
import { onZone } from "../shared/zone";
import type { Range } from "./course";
import type { Held } from "./data";
import { dimensionOf, listDimensions } from "./dimensions";
import { type Colours, FlameModel, type Key, NOTHING, type Seen, type View } from "./model";
import { FlamePainter } from "./paint";
import { StackChart } from "./stacks";
import { Strip } from "./strip";
import { FlameTable } from "./table";
import { byThread, hasThreads } from "./threads";
import type { Cuts } from "./tree";

const COLOURS: Record<Colours, string> = {
  change: "changes",
  category: "kinds",
  package: "packages",
};
const VIEWS: readonly View[] = ["graph", "stacks", "tree", "table"];
/** Functions beside the graph. */
const BESIDE = 100;
/** Wheel notches that double a zoom, in pixels. */
const NOTCH = 200;
/** Milliseconds from the graph to the functions beside it. */
const AFTER = 20;
/** Milliseconds after the last of many small moves, when the address takes over what is seen. */
const STILL = 250;

/** Starts a graph of one or several values, until `life` ends; the first that is not zero is shown. */
export function startFlame(part: HTMLElement, held: Held[], life?: AbortSignal): void {
  if (!held.length) return;
  const values = [...held, ...held.filter(hasThreads).map(byThread)];
  const address = new Address(part.id);
  const view = by(part, "view");
  const rows = by(part, "rows");
  const search = by<HTMLInputElement>(part, "search");
  const colours = by<HTMLSelectElement>(part, "colours");
  const choice = by<HTMLSelectElement>(part, "values");
  const dimension = by<HTMLSelectElement>(part, "dimension");
  const threads = by<HTMLSelectElement>(part, "threads");
  const names = [...new Set(values.map((held) => held.value))];
  const legend = by(part, "legend");
  const told = by(part, "told");
  const work = by(part, "work");
  const tip = new Tip(by(part, "tip"), life);
  const menu = by(part, "menu");
  const canvas = view.querySelector("canvas") as HTMLCanvasElement;
  /** The recording whose frames a value has, of a difference. */
  const recording = (held: Held) => (held.compared?.word === "after" ? "before" : "after");
  const isWhole = document.body.classList.contains("whole");
  const first = Math.max(
    values.findIndex((value) => value.total !== 0),
    0,
  );
  const models: FlameModel[] = [];
  let value = first;
  let remembering = 0;
  let model = modelOf(first);
  let { seen, data } = model;
  let chosen = -1;
  const paint = new FlamePainter(model, part, view, canvas, by(part, "room"), by(part, "beyond"));
  const actions = { find, zoom, select, choose, sorted: () => remember(), showGraph: () => show("graph") };
  let table = new FlameTable(rows, model, actions);
  const stacks = new StackChart(
    by(part, "stacks"),
    part,
    model,
    (kind) => paint.kindColour(kind),
    tip,
    (node, thread) => {
      const isByThread = dimensionOf(data.held) === "thread";
      const root = isByThread ? [data.course?.threads[thread] || "(no thread)"] : [];
      show("graph");
      zoom(model.follow([...root, ...model.pathOf(node, model.all)]));
    },
  );
  const strip = new Strip(by(part, "strip"), part, model, (kind) => paint.kindColour(kind), look);

  function modelOf(value: number): FlameModel {
    const held = values[value];
    const isOf = (one: Held) => one.value === held.value && dimensionOf(one) === "method";
    models[value] ??= new FlameModel(held, values.find(isOf));
    return models[value];
  }

  function turnTo(to: number) {
    value = to;
    model = modelOf(to);
    ({ seen, data } = model);
    paint.show(model);
    table = new FlameTable(rows, model, actions);
    choice.value = values[to].value;
    listDimensions(dimension, values, values[to]);
    chosen = -1;
  }

  function remember(typed = false) {
    clearTimeout(remembering);
    address.set({ ...model.state(), val: value === first ? null : value }, typed);
  }
  const press = (name: string, on: boolean) => by(part, name).setAttribute("aria-pressed", String(on));

  function dress() {
    paint.dress();
    strip.dress();
    stacks.dress();
    drawLegend();
  }

  /** Threads with what they came to, the busiest first. */
  function listThreads() {
    const { course } = data;
    const label = threads.closest("label") as HTMLElement;
    label.hidden = !course || course.threads.length < 2;
    if (!course) return;
    const sums = course.threads.map((name, thread) => {
      let sum = 0;
      course.each(thread, (_, _node, own) => (sum += own));
      return { name, thread, sum };
    });
    sums.sort((a, b) => b.sum - a.sum);
    const text = (name: string, sum: number) => `${name || "(no thread)"} · ${model.amount(sum)}`;
    threads.replaceChildren(
      new Option(`all ${course.threads.length}`, "-1"),
      ...sums.map(({ name, thread, sum }) => new Option(text(name, sum), String(thread))),
    );
    threads.value = String(seen.thread);
  }
  function look(range: Range | null) {
    change({ range });
  }

  /* Kinds of work with what they came to by themselves; the one that is pressed stands out. */
  function drawLegend() {
    legend.hidden = seen.colours === "package";
    // Without buttons in it, the keyboard must reach it to scroll.
    if (seen.colours === "change") legend.tabIndex = 0;
    else legend.removeAttribute("tabindex");
    if (seen.colours === "category") legend.replaceChildren(...legendOfKinds());
    else if (seen.colours === "change") legend.replaceChildren(...legendOfChanges());
  }
  function legendOfKinds(): Node[] {
    return model.kinds().map(([kind, own]) => {
      const button = named("button");
      const patch = named("i", "", "patch");
      button.type = "button";
      button.setAttribute("aria-pressed", String(kind === model.lit));
      button.dataset.kind = kind < 0 ? "" : data.held.categories[kind];
      button.title = own ? "Press: only this kind; Alt and press: hide it" : "nothing of it is in what is shown";
      button.disabled = own === 0;
      button.onclick = (event) => {
        if (event.altKey) return hideAll(model.functionsOf(kind));
        light(kind);
        legend.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
      };
      patch.style.background = paint.kindColour(kind);
      const said = [model.amount(own), model.share(own)].filter(Boolean).join(" · ");
      button.append(patch, model.kindName(kind), named("span", said, "n"));
      return button;
    });
  }
  function legendOfChanges(): Node[] {
    const scale = named("span", "", "scale");
    scale.role = "img";
    scale.ariaLabel = "Colours from faster to slower";
    for (const name of ["d-f3", "d-f2", "d-f1", "d-0", "d-s1", "d-s2", "d-s3"]) {
      const patch = named("i");
      patch.style.background = `var(--${name})`;
      scale.append(patch);
    }
    const what = seen.ofTotal ? "total" : "self";
    const steps = `slower; steps at 0.1, 0.5 and 2 % of all before, by the change of ${what}`;
    const beyond = model.tree.base ? "" : "; here kinds of work are drawn: changes are of paths from the root";
    return [named("span", "faster", "about-scale"), scale, named("span", steps + beyond, "about-scale")];
  }
  function light(kind: number) {
    model.lit = kind === model.lit ? NOTHING : kind;
    remember();
    drawLegend();
    paint.schedule();
    stacks.draw();
  }

  function tell(node: number) {
    const name = node < 0 ? "" : `${data.names[model.tree.symbol[node]]}: `;
    told.textContent = name + model.describe(node);
    told.title = told.textContent;
    for (const name of ["copy-stack", "copy-folded"]) by<HTMLButtonElement>(part, name).disabled = node < 0;
  }

  /** Zooms to a node, and shows a part of it where a window is given. */
  function zoom(to: number, window: Range | null = null) {
    tip.hide();
    const node = model.zoom(to);
    if (window) model.look(...window);
    drawPath(node);
    tell(node < 0 ? model.selected : node);
    if (node >= 0) choose(model.tree.symbol[node]);
    remember();
    fit();
    paint.resize();
    paint.reveal(node < 0 ? 0 : model.tree.depth[node] + 1);
    paint.schedule();
  }

  function drawPath(node: number) {
    const path = by(part, "path");
    const callers: number[] = [];
    path.textContent = "";
    by<HTMLButtonElement>(part, "reset").disabled = model.window[1] >= 1;
    for (let up = node; up >= 0; up = model.tree.parent[up]) callers.push(up);
    // The nearest callers matter; the picture above shows the others.
    if (callers.length > 8) path.append("… ");
    for (const caller of callers.slice(0, 8).reverse()) {
      const forms = data.forms(model.tree.symbol[caller]);
      const button = named("button", forms[Math.min(1, forms.length - 1)] || "(no name)");
      const id = model.idOf(caller);
      button.type = "button";
      button.onclick = () => zoom(model.nodeOf(id));
      path.append(path.lastChild instanceof Element ? " › " : "", button);
    }
  }

  function select(node: number) {
    model.selected = node;
    tell(node);
    if (node >= 0) choose(model.tree.symbol[node]);
    remember();
    paint.schedule();
  }

  /** Shows callers and callees of a function. */
  function choose(symbol: number) {
    if (!isWhole || symbol === chosen) return;
    chosen = symbol;
    table.sandwich(by(part, "sandwich"), symbol);
    table.mark(by(part, "funcs"), symbol);
  }

  function find(words: string) {
    tip.hide();
    if (search.value.trim() !== words) search.value = words;
    const matched = by(part, "matched");
    matched.textContent = matched.title = model.find(words);
    for (const name of ["previous", "next"]) by<HTMLButtonElement>(part, name).disabled = !model.hits;
    remember(true);
    drawTables();
    paint.schedule();
    stacks.draw();
  }
  function step(forward: boolean) {
    const node = model.match(forward);
    if (node < 0) return;
    select(node);
    if (model.isAway(node)) zoom(-1);
    select(node);
    paint.reveal(model.tree.depth[node] + 1);
  }

  function drawTables() {
    table.update();
    if (isWhole && seen.shown === "graph") later();
  }
  /** Lists the functions beside the graph, which is drawn before. */
  let listing = 0;
  function later() {
    if (listing) return;
    listing = requestAnimationFrame(() =>
      setTimeout(() => {
        listing = 0;
        table.functions(by(part, "funcs"), BESIDE);
        table.mark(by(part, "funcs"), chosen);
      }, AFTER),
    );
  }

  function recall() {
    const wanted = Number(address.get("val") ?? first);
    turnTo(values[wanted] ? wanted : first);
    colours.replaceChildren(...model.choices.map((value) => new Option(COLOURS[value], value)));
    const { zoomed, selected, window } = model.recall((name) => address.get(name));
    const words = address.get("s") ?? "";
    const shown = address.get("v");
    pressed();
    listThreads();
    strip.show(model);
    dress();
    fit();
    paint.resize();
    view.scrollTop = seen.upwards ? view.scrollHeight : 0;
    if (words !== seen.words || search.value !== words) find(words);
    zoom(model.follow(zoomed), window);
    if (selected.length) select(model.follow(selected));
    if (isWhole && chosen < 0) table.sandwich(by(part, "sandwich"), -1);
    const isNone = shown === "stacks" && !data.course;
    by(part, "view-stacks").hidden = !data.course;
    show((!isNone && VIEWS.find((view) => view === shown)) || "graph");
  }

  function pressed() {
    for (const name of VIEWS) press(`view-${name}`, seen.shown === name);
    press("inverted", seen.inverted);
    press("merged", seen.merged);
    press("turned", seen.upwards);
    press("of-self", !seen.ofTotal);
    press("of-total", seen.ofTotal);
    by(part, "sides").hidden = !data.changes;
    by(part, "recordings").hidden = !data.changes || values.filter((held) => held.value === data.held.value).length < 2;
    for (const name of ["before", "after"]) press(`of-${name}`, recording(data.held) === name);
    by(part, "merged").hidden = !model.grouping;
    const words = model.cutWords();
    by(part, "cuts").hidden = !words;
    by(part, "cuts").textContent = words;
    const finding = by(part, "finding");
    finding.textContent = (isWhole && (data.held.compared?.finding ?? data.held.finding)) || "";
    finding.hidden = !finding.textContent;
    colours.value = seen.colours;
  }

  function show(shown: View) {
    tip.hide();
    seen.shown = shown;
    rows.hidden = shown === "graph" || shown === "stacks";
    view.hidden = shown !== "graph";
    by(part, "low").hidden = shown !== "graph";
    by(part, "stacks").hidden = shown !== "stacks";
    pressed();
    remember();
    drawTables();
    if (shown === "stacks") stacks.show(model);
    if (shown !== "graph") return;
    fit();
    paint.resize();
    paint.schedule();
  }

  function change(what: Partial<Seen>) {
    Object.assign(seen, what);
    const isOther = "range" in what || "thread" in what;
    const isShape = "inverted" in what || "merged" in what || "cuts" in what || isOther;
    const names = isShape ? model.reshape() : null;
    pressed();
    drawLegend();
    if (isShape) zoom("inverted" in what || !names ? -1 : model.follow(names));
    fit();
    if ("upwards" in what) view.scrollTop = seen.upwards ? view.scrollHeight : 0;
    remember();
    if (isOther) again();
    else drawTables();
    paint.resize();
    paint.schedule();
  }
  /** Says anew what depends on time and threads. */
  function again() {
    chosen = -1;
    find(seen.words);
    if (isWhole && model.selected < 0) table.sandwich(by(part, "sandwich"), -1);
    strip.show(model);
    stacks.show(model);
  }
  onZone(() => {
    pressed();
    strip.draw();
    stacks.draw();
  }, life);

  /* What is taken out of the picture; Back or `u` puts it in again. */
  const cutsBefore: Cuts[] = [];
  function cutTo(cuts: Partial<Cuts>) {
    if (data.held.merge !== "sum") return;
    cutsBefore.push(seen.cuts);
    change({ cuts: { ...seen.cuts, ...cuts } });
  }
  const symbolOf = () => (model.selected < 0 ? -1 : model.tree.symbol[model.selected]);
  function focusOn() {
    const symbol = symbolOf();
    if (symbol >= 0) cutTo({ focus: symbol });
  }
  function hide() {
    const symbol = symbolOf();
    if (symbol >= 0) hideAll([symbol]);
  }
  function hideAll(symbols: readonly number[]) {
    if (data.held.merge !== "sum" || !symbols.length) return;
    const frames = model.tree.symbol.reduce((sum, symbol) => sum + (symbols.includes(symbol) ? 1 : 0), 0);
    cutTo({ hidden: [...seen.cuts.hidden, ...symbols] });
    toast(`Hidden: ${counted(frames, "frame")}`, undo);
  }
  const collapse = () => cutTo({ collapsed: !seen.cuts.collapsed });
  function undo() {
    const before = cutsBefore.pop();
    if (before) change({ cuts: before });
  }

  /** Gives the graph the room it needs; what is deep stands beside the tables. */
  function fit() {
    const needed = paint.rows * paint.row;
    if (isWhole) {
      const isDeep = needed > work.clientHeight * 0.55 && innerWidth > 1100;
      work.classList.toggle("beside", isDeep && seen.shown === "graph");
      const most = innerWidth > 900 ? work.clientHeight * 0.55 : work.clientHeight * 0.65;
      view.style.height = isDeep ? "auto" : `${Math.min(needed, Math.max(most, 120))}px`;
    } else view.style.height = rows.style.height = `${Math.min(480, Math.max(140, needed + 4))}px`;
  }

  function walk(key: Key) {
    const to = model.walk(key);
    view.focus({ preventScroll: true });
    if (to < 0) return;
    select(to);
    if (model.isAway(to)) zoom(to);
    paint.reveal(model.tree.depth[model.selected] + 1);
  }

  async function copyText(text: string, done: string) {
    toast((await copy(text)) ? done : "This browser does not let pages copy");
  }
  async function copyStack(folded: boolean) {
    if (model.selected >= 0) await copyText(model.stack(folded), "Stack copied");
  }

  function showMenu(x: number, y: number) {
    const node = model.selected;
    if (node < 0) return;
    const name = data.names[model.tree.symbol[node]];
    const place = data.held.places[model.tree.symbol[node]];
    const isSum = data.held.merge === "sum";
    openMenu(menu, x, y, [
      { text: "Zoom", key: "Enter", run: () => zoom(node) },
      { text: "Focus on the function", key: "f", run: focusOn, off: !isSum },
      { text: "Hide the function", key: "h", run: hide, off: !isSum },
      { text: "Collapse recursion", key: "r", run: collapse, off: !isSum },
      { text: "Callers and callees", key: "", run: () => choose(symbolOf()), off: !isWhole },
      { text: "Take the last one back", key: "u", run: undo, off: !cutsBefore.length },
      { text: "Copy name", key: "", run: () => copyText(name, "Name copied") },
      { text: "Copy stack", key: "c", run: () => copyStack(false) },
      ...(/:\d+$/.test(place)
        ? [{ text: "Copy file and line", key: "", run: () => copyText(place, `Copied: ${place}`) }]
        : []),
    ]);
  }

  const within = (event: MouseEvent) => {
    const bounds = view.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top] as const;
  };

  /* Mouse and fingers: a press selects and a second one zooms, a drag moves what is zoomed. */
  const fingers = new Pinch(view);
  let drag: { x: number; from: number; moved: boolean; what: "graph" | "window" | "whole" } | null = null;
  const share = (pixels: number) => pixels / view.clientWidth;
  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target !== canvas) return;
    const [x, y] = within(event);
    const [from, range] = model.window;
    const isWindow = share(x) >= from && share(x) < from + range;
    const what = !paint.isOnMap(y) ? "graph" : isWindow ? "window" : "whole";
    drag = { x: event.clientX, from, moved: false, what };
  });
  view.addEventListener("pointerup", () => {
    setTimeout(() => {
      drag = null;
    });
  });
  view.addEventListener("pointermove", (event) => {
    const isPinched = fingers.move(event, (before, after) => {
      if (drag) drag.moved = true;
      magnify(before.far / after.far, before.middle);
      const [from, range] = model.window;
      lookAt(from + share(before.middle - after.middle) * range, range);
    });
    if (isPinched) return tip.hide();
    if (drag && event.buttons === 1 && Math.abs(event.clientX - drag.x) >= 4) {
      if (!drag.moved) view.setPointerCapture(event.pointerId);
      drag.moved = true;
      tip.hide();
      const [, range] = model.window;
      const by = share(event.clientX - drag.x);
      const at = share(drag.x - view.getBoundingClientRect().left);
      if (drag.what === "window") lookAt(drag.from + by, range);
      else if (drag.what === "whole") lookAt(Math.min(at, at + by), Math.abs(by));
      else if (range < 1) lookAt(drag.from - by * range, range);
      return;
    }
    const [x, y] = within(event);
    const rest = paint.restAt(x, y);
    const node = rest ? NOTHING : paint.at(x, y);
    if (rest) tip.show(paint.restText(rest), [["zoom in", "to see them"]], event.clientX, event.clientY);
    else if (node < 0) tip.hide();
    else {
      const { name, pairs } = model.tell(node);
      tip.show(name, pairs, event.clientX, event.clientY);
    }
    if (node === model.hovered) return;
    model.hovered = node;
    paint.schedule();
  });
  view.addEventListener("click", (event) => {
    // What lies under the end of a drag was not pressed.
    if (drag?.moved) return;
    const [x, y] = within(event);
    const node = paint.at(x, y);
    const { tree } = model;
    if (node === NOTHING) return;
    const isCaller = node < 0 || (seen.zoomed >= 0 && tree.depth[node] < tree.depth[seen.zoomed]);
    if (isCaller) zoom(node);
    else if (node === seen.zoomed) zoom(tree.parent[node]);
    else if (node === model.selected) zoom(node);
    else select(node);
  });
  onMenu(view, (event) => {
    const node = paint.at(...within(event));
    if (node < 0) return false;
    tip.hide();
    select(node);
    showMenu(event.clientX, event.clientY);
    return true;
  });
  view.addEventListener("pointerleave", () => {
    model.hovered = -1;
    tip.hide();
    paint.schedule();
  });
  /** Shows what begins at a share of the whole and is so much of it. */
  function lookAt(from: number, range: number) {
    model.look(from, range);
    drawPath(seen.zoomed);
    fit();
    paint.resize();
    paint.schedule();
    clearTimeout(remembering);
    remembering = window.setTimeout(() => remember(), STILL);
  }
  /** Shows so many times of the window, around a pixel of it. */
  function magnify(factor: number, x: number) {
    const [from, range] = model.window;
    const next = Math.min(range * factor, 1);
    lookAt(from + share(x) * (range - next), next);
  }
  view.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      magnify(2 ** (event.deltaY / NOTCH), within(event)[0]);
    },
    { passive: false },
  );
  view.addEventListener("scroll", () => paint.schedule(), { passive: true });
  new ResizeObserver(() => {
    fit();
    paint.resize();
  }).observe(isWhole ? work : view);

  search.addEventListener("input", () => find(search.value.trim()));
  by(part, "previous").onclick = () => step(false);
  by(part, "next").onclick = () => step(true);
  by(part, "reset").onclick = () => zoom(-1);
  by(part, "inverted").onclick = () => change({ inverted: !seen.inverted });
  by(part, "turned").onclick = () => change({ upwards: !seen.upwards });
  by(part, "merged").onclick = () => change({ merged: !seen.merged });
  by(part, "of-self").onclick = () => change({ ofTotal: false });
  by(part, "of-total").onclick = () => change({ ofTotal: true });
  by(part, "help").onclick = help;
  colours.onchange = () => change({ colours: colours.value as Colours });
  function turn() {
    const to = values.findIndex((held) => held.value === choice.value && dimensionOf(held) === dimension.value);
    if (to < 0) return;
    address.set({
      ...Object.fromEntries(
        Object.keys(model.state())
          .filter((key) => key !== "w" && key !== "th")
          .map((key) => [key, null]),
      ),
      val: to === first ? null : to,
    });
    recall();
  }
  /** Shows the same of the other recording. */
  function turnRecording(to: string) {
    const at = values.findIndex((held) => held.value === data.held.value && recording(held) === to);
    if (at < 0 || at === value) return;
    address.set({ ...model.state(), val: at === first ? null : at });
    recall();
  }
  for (const name of ["before", "after"]) by(part, `of-${name}`).onclick = () => turnRecording(name);
  choice.onchange = turn;
  dimension.onchange = turn;
  threads.onchange = () => change({ thread: Number(threads.value) });
  for (const name of VIEWS) by(part, `view-${name}`).onclick = () => show(name);
  by(part, "copy-stack").onclick = () => copyStack(false);
  by(part, "copy-folded").onclick = () => copyStack(true);

  function help() {
    const keys = by(part, "keys");
    keys.hidden = !keys.hidden;
    by(part, "help").setAttribute("aria-expanded", String(!keys.hidden));
  }
  /** Goes back by one step: the search, then what is zoomed. */
  function leave() {
    if (!by(part, "keys").hidden) help();
    else if (seen.words) find("");
    else if (seen.zoomed >= 0) zoom(model.tree.parent[seen.zoomed]);
    else zoom(-1);
    (view.hidden ? rows : view).focus();
  }
  function menuOfSelected() {
    const bounds = view.getBoundingClientRect();
    const [x, y] = model.selected < 0 ? [0, 0] : paint.spot(model.selected);
    showMenu(bounds.left + x, bounds.top + y);
  }
  /** Goes along the rows of the table that is shown. */
  function row(step: 1 | -1) {
    const place = rows.hidden ? by(part, "funcs") : rows;
    stepFocus(place.querySelectorAll<HTMLElement>("tbody .name button"), step);
  }
  const KEYS: Record<string, () => void> = {
    x: () => change({ upwards: !seen.upwards }),
    i: () => change({ inverted: !seen.inverted }),
    b: () => change({ inverted: !seen.inverted }),
    m: () => model.grouping && change({ merged: !seen.merged }),
    c: () => copyStack(false),
    C: () => copyStack(true),
    f: focusOn,
    h: hide,
    r: collapse,
    u: undo,
    j: () => row(1),
    k: () => row(-1),
    n: () => step(true),
    N: () => step(false),
    t: switchTheme,
    "?": help,
    ".": menuOfSelected,
    0: () => zoom(-1),
  };
  function onKey(event: KeyboardEvent) {
    const { key, target } = event;
    const isTyping = target === search;
    // What is typed into fields around the part is not meant for it.
    if (event.defaultPrevented || (target instanceof HTMLInputElement && !isTyping)) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if ((isCommand && key === "f" && isWhole) || (key === "/" && !isTyping)) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (isMenuKey(event) && target === view) {
      event.preventDefault();
      menuOfSelected();
    } else if (key === "Escape") leave();
    else if (isTyping || isCommand || event.altKey || target instanceof HTMLSelectElement) {
      if (isTyping && key === "Enter" && !view.hidden) view.focus();
    } else if (/^[1-9]$/.test(key) && seen.colours === "category") {
      const [kind, own] = model.kinds()[Number(key) - 1] ?? [];
      if (kind !== undefined && own) light(kind);
    } else if (KEYS[key]) KEYS[key]();
    else if (view.hidden) return;
    else if (key.startsWith("Arrow") && !(target as Element).closest(".low, .rows")) {
      event.preventDefault();
      walk(key as Key);
    } else if (key === "Enter" && target === view && model.selected >= 0) zoom(model.selected);
  }
  // A page of one graph takes its keys anywhere.
  // In the app, keys outside of the part are those of its pages.
  (isWhole && !life ? document.body : part).addEventListener("keydown", onKey, until(life));

  onRedraw(() => {
    dress();
    paint.resize();
    paint.draw();
    if (isPrinting() && !view.hidden) paint.cutStrips();
    else dropStrips(canvas);
  }, life);
  choice.append(...names.map((name) => new Option(name, name)));
  (choice.closest("label") as HTMLElement).hidden = names.length < 2;
  addEventListener("hashchange", recall, until(life));
  // What is seen next has another address.
  life?.addEventListener("abort", () => clearTimeout(remembering));
  recall();
}
