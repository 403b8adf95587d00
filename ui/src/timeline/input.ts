/* The elements around a timeline, the mouse and the keys. */
import { Address } from "../shared/address";
import { button, by, copy, named, stepFocus, until } from "../shared/dom";
import { kindName, kindToken } from "../shared/kinds";
import { isMenuKey, onMenu, openMenu } from "../shared/menu";
import { Pinch } from "../shared/pinch";
import { exactly } from "../shared/search";
import type { Moment } from "../shared/source";
import { cutStrips, dropStrips } from "../shared/strips";
import { isPrinting, onRedraw, switchTheme, widthOf } from "../shared/theme";
import { Tip } from "../shared/tip";
import { toast } from "../shared/toast";
import { isLocalZone, onZone } from "../shared/zone";
import { exact, type Held, halves } from "./data";
import { HEAD, NO_KIND, ORDERS, TimelineModel } from "./model";
import { Overview } from "./overview";
import { measured, TimelinePainter } from "./paint";
import { ranIn } from "./range";
import { onPaper } from "./sheet";
import { ranTable, showTracks } from "./table";
import type { AskTile } from "./tiles";
import { amount, Words } from "./words";

/** Milliseconds after the last move, when what is seen is asked for. */
const STILL = 200;

/** The texts of a part's bytes. */
export const bitsOf = (part: Element): string[] =>
  Array.from(part.querySelectorAll(":scope > script[type='text/plain']"), (one) => one.textContent ?? "");

/** Starts a timeline, until `life` ends; `ask` answers for stretches of what the page does not hold one by one. */
export function startTimeline(part: HTMLElement, held: Held, life?: AbortSignal, ask?: AskTile): void {
  const model = new TimelineModel(held, bitsOf(part));
  const { t, data } = model;
  const words = new Words(model);
  const address = new Address(part.id);
  const isWhole = document.body.classList.contains("whole");
  const view = by(part, "view");
  const rows = by(part, "rows");
  const details = by(part, "details");
  const search = by<HTMLInputElement>(part, "search");
  const order = by<HTMLSelectElement>(part, "order");
  const tip = new Tip(by(part, "tip"), life);
  const canvas = view.querySelector("canvas") as HTMLCanvasElement;
  const paint = new TimelinePainter(canvas, part, model, words);
  const overview = new Overview(
    by(part, "overview").querySelector("canvas") as HTMLCanvasElement,
    part,
    model,
    (start, share) => {
      const { h, l } = halves(BigInt(Math.floor(start * model.longest)));
      showWindow(h, l, Math.max(share * model.longest, 4));
    },
  );
  let pointer: number | null = null;
  let isMeasuring = false;
  let waiting = 0;
  /** Pixels of the gutter with the names of tracks. */
  let gutter = 208;

  function draw() {
    waiting = 0;
    paint.draw(isPrinting() ? 0 : view.scrollTop);
    overview.draw();
  }
  function schedule() {
    if (!waiting) waiting = requestAnimationFrame(draw);
  }
  function arrange() {
    const height = model.arrange() + HEAD + model.pinnedHeight;
    by(part, "room").style.height = `${height}px`;
    return height;
  }
  function resize() {
    model.wide = Math.max(widthOf(view), 120);
    model.high = Math.max(view.clientHeight, 60);
    model.left = Math.min(gutter, Math.round(model.wide * 0.4));
    const height = arrange();
    if (isPrinting()) model.high = onPaper(part, model, height, HEAD + model.pinnedHeight);
    paint.resize();
    model.normalise();
    draw();
    const top = HEAD + model.pinnedHeight;
    if (isPrinting()) cutStrips(canvas, model.high, [top, ...model.lines.map((line) => top + line.top + line.height)]);
    else dropStrips(canvas);
  }

  /* The window. */
  function changed() {
    model.normalise();
    schedule();
    remember();
    if (ask && !data.all) later();
  }

  /* What the page does not hold one by one is asked for when the window rests. */
  let asking = 0;
  function later() {
    clearTimeout(asking);
    asking = window.setTimeout(() => void fetchTile(), STILL);
  }
  async function fetchTile() {
    const span = BigInt(Math.ceil(model.view.span));
    const [from, to] = [model.leftEdge(), model.leftEdge() + span];
    const isWhole = model.view.span * 2 > model.longest;
    if (!ask || isWhole || model.source.has(from, to) || !data.sources.every((source) => source.unix)) return;
    const stretch = [from - span, to + span] as const;
    part.ariaBusy = "true";
    const tile = await ask(model.start + stretch[0], model.start + stretch[1]).catch(() => null);
    if (life?.aborted) return;
    part.ariaBusy = "false";
    if (!tile) {
      toast("The collector does not answer for this stretch: short spans stay together.");
      return;
    }
    model.take(tile, ...stretch);
    paint.dress();
    schedule();
    // Meanwhile the window may have moved on.
    later();
  }
  function move(pixels: number) {
    model.view.l += pixels * model.perPixel;
    changed();
  }
  function zoom(factor: number, at = model.plot / 2) {
    model.zoom(factor, at);
    changed();
  }
  function showWindow(h: number, l: number, span: number) {
    Object.assign(model.view, { h, l, span });
    changed();
  }
  const all = () => showWindow(0, -model.longest * 0.01, model.longest * 1.02 + 1);
  function zoomTo(item: number) {
    const length = Number(model.lengthOf(item));
    const span = Math.max(length * 1.2, 10);
    showWindow(t.sh[item], t.sl[item] - (span - length) / 2, span);
  }

  /* Selection. */
  function select(item: number, reveal: "near" | "here" | "" = "") {
    tip.hide();
    model.selected = item;
    if (item < 0) details.textContent = "Press a span for its details; ? lists the keys.";
    else {
      const track = model.trackOf(item);
      model.track = track.key;
      details.replaceChildren(...words.details(item));
      if (reveal) show(item, reveal);
    }
    schedule();
    remember();
  }
  /** Brings an item into the view. */
  function show(item: number, reveal: "near" | "here") {
    const track = model.trackOf(item);
    const isFolded = model.folded.delete(track.key);
    if (model.openIdle(track) || isFolded) arrange();
    const spot = model.spot(item, model.lines);
    const top = view.scrollTop;
    const room = model.high - HEAD - model.pinnedHeight;
    if (spot && spot.top < top) view.scrollTop = spot.top - 20;
    else if (spot && spot.top + spot.height > top + room) view.scrollTop = spot.top + spot.height - room + 20;
    const from = model.place(t.sh[item], t.sl[item]);
    const to = model.place(t.eh[item], t.el[item]);
    if (to < 20 || from > model.plot - 20 || (reveal === "near" && to - from < 4)) {
      const length = model.lengthOf(item);
      const span = reveal === "near" ? Math.max(Number(length) * 8, 40) : model.view.span;
      const { h, l } = halves(model.startOf(item) + length / 2n);
      showWindow(h, l - span / 2, span);
    }
  }
  function find(what: string) {
    if (search.value.trim() !== what) search.value = what;
    by(part, "matched").textContent = model.find(what);
    for (const name of ["previous", "next"]) by<HTMLButtonElement>(part, name).disabled = !model.hasMatch;
    remember();
    schedule();
  }
  function step(forward: boolean) {
    const item = model.match(forward);
    if (item >= 0) select(item, "near");
  }

  /* Measuring. */
  function measuring(on: boolean) {
    isMeasuring = on;
    by(part, "measure").setAttribute("aria-pressed", String(on));
  }
  function endMeasure() {
    measuring(false);
    model.measured = [];
    remember();
    schedule();
  }
  function tellMeasured() {
    details.textContent = `Measured: ${measured(model.distance())}`;
  }
  /** Says what ran between the two points. */
  function tellRan() {
    tellMeasured();
    const [from, to] = model.measured.map(({ h, l }) => exact(h, l)).sort((a, b) => (a < b ? -1 : 1));
    const ran = ranIn(model, from, to);
    if (ran.length) details.append(ranTable(model, ran, (name) => find(exactly(name))));
    remember();
    resize();
  }
  function point(where: Moment) {
    model.measured = model.measured.length === 1 ? [model.measured[0], where] : [where];
    measuring(model.measured.length === 1);
    if (model.measured.length === 2) tellRan();
    schedule();
  }
  function measure() {
    const { selected: item } = model;
    if (pointer !== null) point(model.snap(pointer));
    else if (item >= 0) {
      const isEnd = model.measured.length === 1;
      point(isEnd ? { h: t.eh[item], l: t.el[item] } : { h: t.sh[item], l: t.sl[item] });
    } else {
      model.measured = [];
      measuring(true);
    }
  }

  /* Tracks. */
  function pin(key: string) {
    const at = model.pinned.indexOf(key);
    if (at < 0) model.pinned.push(key);
    else model.pinned.splice(at, 1);
    arrange();
    if (!rows.hidden) table();
    remember();
    schedule();
  }
  function fold(key: string) {
    if (!model.toggleIdle(key) && !model.folded.delete(key)) model.folded.add(key);
    arrange();
    remember();
    schedule();
  }
  /** Draws a track in full, or small. */
  function opened(key: string, on: boolean) {
    const line = model.lines.find((line) => line.key === key);
    if (line?.folds && line.folded === on) fold(key);
  }
  function table() {
    showTracks(rows, model, words, {
      choose(track) {
        model.track = track.key;
        table();
        remember();
      },
      select(item) {
        tabled(false);
        select(item, "near");
        view.focus();
      },
      pin,
    });
  }
  function tabled(on: boolean) {
    rows.hidden = !on;
    view.hidden = on;
    by(part, "as-table").setAttribute("aria-pressed", String(on));
    if (on) table();
    else resize();
    remember();
  }
  function help() {
    const keys = by(part, "keys");
    keys.hidden = !keys.hidden;
    by(part, "help").setAttribute("aria-expanded", String(!keys.hidden));
    resize();
  }

  /* The address remembers what is looked at, and how. */
  let remembering = 0;
  let isRecalling = false;
  /** The window that is shown at first. */
  let first = "";
  const shown = () => `${model.leftEdge()}_${Math.round(model.view.span)}`;
  function remember() {
    if (isRecalling) return;
    clearTimeout(remembering);
    remembering = window.setTimeout(() => {
      const [from, to] = model.measured.map(({ h, l }) => exact(h, l));
      address.set({
        v: shown() === first ? null : shown(),
        s: model.words,
        i: model.selected < 0 || model.selected >= t.total ? null : model.selected,
        p: model.pinned.join("."),
        k: model.litWord,
        o: model.order === ORDERS[0] ? null : model.order,
        x: model.turned.join("."),
        m: to === undefined ? null : `${from}_${to}`,
        tb: rows.hidden ? null : model.track || "all",
      });
    }, 250);
  }
  function recall() {
    clearTimeout(remembering);
    isRecalling = true;
    remind();
    isRecalling = false;
    schedule();
  }
  function remind() {
    model.order = ORDERS.find((one) => one === address.get("o")) ?? ORDERS[0];
    order.value = model.order;
    model.turned = (address.get("x") ?? "").split(".").filter((key) => /^([tc]|idle)\d+$/.test(key));
    model.litWord = address.get("k") ?? "";
    drawLegend();
    model.pinned = (address.get("p") ?? "").split(".").filter((key) => /^[tc]\d+$/.test(key));
    all();
    if (data.bulk.length) {
      const [from, to] = data.bulk.map(BigInt);
      const { h, l } = halves(from);
      showWindow(h, l, Number(to - from));
    }
    first = shown();
    arrange();
    const [from, span] = (address.get("v") ?? "").split("_");
    if (/^-?\d{1,20}$/.test(from) && Number(span) > 0) {
      const { h, l } = halves(BigInt(from));
      showWindow(h, l, Number(span));
    }
    const found = address.get("s") ?? "";
    if (found !== model.words) find(found);
    const item = address.get("i") ?? "";
    select(/^\d+$/.test(item) && Number(item) < t.total ? Number(item) : -1);
    const ends = (address.get("m") ?? "").split("_").filter((ns) => /^-?\d{1,20}$/.test(ns));
    model.measured = ends.length === 2 ? ends.map((ns) => halves(BigInt(ns))) : [];
    if (model.measured.length) tellRan();
    const track = address.get("tb");
    if (track && track !== "all") model.track = track;
    if (rows.hidden === !!track) tabled(!!track);
  }

  /* Two fingers zoom the drawing around the middle between them. */
  const fingers = new Pinch(view);
  const pinch = (event: PointerEvent) =>
    fingers.move(event, (before, after) => {
      drag = null;
      model.zoom(before.far / after.far, Math.max(0, before.middle - model.left));
      move(before.middle - after.middle);
    });

  /* Mouse and fingers. */
  let drag: { x: number; y: number; moved: boolean; measure: boolean } | null = null;
  let isWidening = false;
  const isBorder = (x: number) => Math.abs(x - model.left) < 4;
  const within = (event: MouseEvent) => {
    const bounds = view.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  };
  view.addEventListener("pointerdown", (event) => {
    if (event.button || event.target !== canvas) return;
    const { x, y } = within(event);
    if (isBorder(x)) {
      isWidening = true;
      view.setPointerCapture(event.pointerId);
      return;
    }
    drag = { x, y, moved: false, measure: event.shiftKey && x >= model.left };
    if (!drag.measure) return;
    model.measured = [];
    point(model.snap(x - model.left));
  });
  view.addEventListener("pointermove", (event) => {
    if (pinch(event)) return tip.hide();
    const { x, y } = within(event);
    if (isWidening) {
      gutter = Math.min(Math.max(x, 96), 480);
      resize();
      return;
    }
    pointer = x >= model.left ? x - model.left : null;
    if (drag && (drag.moved || Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4)) {
      if (!drag.moved) {
        drag.moved = true;
        view.setPointerCapture(event.pointerId);
      }
      if (drag.measure) {
        model.measured[1] = model.snap(x - model.left);
        tellMeasured();
        schedule();
      } else {
        move(drag.x - x);
        if (event.pointerType !== "touch") view.scrollTop += drag.y - y;
        drag.x = x;
        drag.y = y;
      }
      tip.hide();
      return;
    }
    hover(x, y, event);
  });
  function hover(x: number, y: number, event: PointerEvent) {
    const { line, item } = model.at(x, y, view.scrollTop);
    const counter = line?.counter;
    const reading = counter && x >= model.left ? model.reading(counter, x - model.left) : null;
    if (item >= 0) tip.show(words.full(item), words.tell(item), event.clientX, event.clientY);
    else if (line && x < model.left)
      tip.show(line.name, line.note ? [["", line.note]] : [], event.clientX, event.clientY);
    else if (counter && reading !== null) {
      tip.show(counter.name, [["value", model.value(counter, reading)]], event.clientX, event.clientY);
    } else tip.hide();
    view.style.cursor = isBorder(x) ? "col-resize" : x < model.left ? "pointer" : isMeasuring ? "crosshair" : "default";
    if (item === model.hovered) return;
    model.hovered = item;
    schedule();
  }
  view.addEventListener("pointerup", () => {
    isWidening = false;
    const was = drag;
    drag = null;
    if (!was) return;
    if (was.measure) {
      measuring(false);
      if (was.moved) tellRan();
      else model.measured = [];
      schedule();
      return;
    }
    if (was.moved) return;
    const { line, item } = model.at(was.x, was.y, view.scrollTop);
    if (isMeasuring && was.x >= model.left) point(model.snap(was.x - model.left));
    else if (was.x < model.left && line?.key) {
      if (was.x < 18) return pin(line.key);
      model.track = line.key;
      if (line.folds) fold(line.key);
      else schedule();
    } else if (was.y >= HEAD) select(item);
  });
  view.addEventListener("pointercancel", () => {
    isWidening = false;
    drag = null;
  });
  onMenu(view, (event) => {
    const { x, y } = within(event);
    const { item } = model.at(x, y, view.scrollTop);
    if (item < 0) return false;
    drag = null;
    select(item);
    showMenu(event.clientX, event.clientY);
    return true;
  });
  /** The menu of the selection. */
  function showMenu(x: number, y: number) {
    const { selected: item } = model;
    if (item < 0) return;
    const { key } = model.trackOf(item);
    const name = words.full(item);
    const tell = async (text: string) => {
      toast((await copy(text)) ? "Copied" : "This browser does not let pages copy");
    };
    const between = () => {
      model.measured = [
        { h: t.sh[item], l: t.sl[item] },
        { h: t.eh[item], l: t.el[item] },
      ];
      tellRan();
      schedule();
    };
    openMenu(by(part, "menu"), x, y, [
      { text: "Zoom to it", key: "f", run: () => zoomTo(item) },
      { text: "What ran meanwhile", key: "", run: between },
      { text: "Find others of this name", key: "", run: () => find(exactly(name)) },
      { text: model.pinned.includes(key) ? "Let its track go" : "Pin its track", key: "p", run: () => pin(key) },
      { text: "Copy name", key: "", run: () => tell(name) },
      {
        text: "Copy details",
        key: "",
        run: () => tell([name, ...words.tell(item).map((pair) => pair.join(": "))].join("\n")),
      },
    ]);
  }
  view.addEventListener("dblclick", (event) => {
    const { x, y } = within(event);
    const { item } = model.at(x, y, view.scrollTop);
    if (item >= 0) zoomTo(item);
  });
  view.addEventListener("pointerleave", () => {
    pointer = null;
    model.hovered = -1;
    tip.hide();
    schedule();
  });
  view.addEventListener(
    "wheel",
    (event) => {
      const x = within(event).x - model.left;
      const isAcross = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey || event.metaKey) zoom(2 ** (event.deltaY / 150), Math.max(0, x));
      else if (isAcross) move(event.deltaX || event.deltaY);
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
  view.addEventListener("scroll", schedule, { passive: true });

  search.addEventListener("input", () => find(search.value.trim()));
  by(part, "previous").onclick = () => step(false);
  by(part, "next").onclick = () => step(true);
  by(part, "in").onclick = () => zoom(0.5);
  by(part, "out").onclick = () => zoom(2);
  by(part, "all").onclick = all;
  by(part, "measure").onclick = () => {
    pointer = null;
    if (isMeasuring) endMeasure();
    else measure();
  };
  by(part, "as-table").onclick = () => tabled(!!rows.hidden);
  by(part, "help").onclick = help;
  order.onchange = () => {
    model.order = ORDERS.find((one) => one === order.value) ?? ORDERS[0];
    arrange();
    if (!rows.hidden) table();
    remember();
    schedule();
  };

  onZone(() => {
    words.isLocal = isLocalZone();
    if (model.selected >= 0) details.replaceChildren(...words.details(model.selected));
    schedule();
  }, life);
  function leave() {
    if (!by(part, "keys").hidden) help();
    else if (isMeasuring || model.measured.length) endMeasure();
    else if (model.words) find("");
    else select(-1);
    view.focus();
  }
  /** Opens the menu below the selection. */
  function menuOfSelected() {
    const bounds = view.getBoundingClientRect();
    const { selected } = model;
    const spot = selected < 0 ? null : model.spot(selected, model.lines);
    const x = selected < 0 ? 0 : Math.min(Math.max(model.place(t.sh[selected], t.sl[selected]), 0), model.plot);
    const y = spot ? HEAD + model.pinnedHeight + spot.top + spot.height - view.scrollTop : HEAD;
    showMenu(bounds.left + model.left + x, bounds.top + Math.min(Math.max(y, HEAD), model.high));
  }
  /** Goes along the rows of the table. */
  const toRow = (step: 1 | -1) => stepFocus(rows.querySelectorAll<HTMLElement>("tbody .name button"), step);
  const KEYS: Record<string, () => void> = {
    w: () => zoom(0.7, pointer ?? undefined),
    s: () => zoom(1 / 0.7, pointer ?? undefined),
    "+": () => opened(model.track, true),
    "-": () => opened(model.track, false),
    a: () => move(-model.plot / 8),
    d: () => move(model.plot / 8),
    0: all,
    m: measure,
    n: () => step(true),
    N: () => step(false),
    f: () => model.selected >= 0 && zoomTo(model.selected),
    Enter: () => model.selected >= 0 && zoomTo(model.selected),
    p: () => model.track && pin(model.track),
    "[": () => step(false),
    "]": () => step(true),
    ".": menuOfSelected,
    v: () => tabled(!!rows.hidden),
    j: () => toRow(1),
    k: () => toRow(-1),
    t: switchTheme,
    "?": help,
    Escape: leave,
  };
  function onArrow(key: string) {
    if (model.selected >= 0) {
      const to = model.walk(key);
      if (to >= 0) select(to, "here");
    } else if (key === "ArrowLeft" || key === "ArrowRight") move(((key === "ArrowLeft" ? -1 : 1) * model.plot) / 8);
    else view.scrollTop += key === "ArrowUp" ? -60 : 60;
  }
  function onKey(event: KeyboardEvent) {
    const { key, target } = event;
    const isTyping = target === search;
    // What is typed into fields around the part is not meant for it.
    if (event.defaultPrevented || (target instanceof HTMLInputElement && !isTyping)) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const isSeen = !view.hidden || "vjkt?".includes(key) || key === "Escape";
    if ((isCommand && key === "f") || (key === "/" && !isTyping)) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (isTyping) {
      if (key === "Escape") leave();
      else if (key === "Enter") step(!event.shiftKey);
    } else if (isMenuKey(event) && target === view) {
      event.preventDefault();
      menuOfSelected();
    } else if (isCommand || event.altKey || target === order) {
      return;
    } else if (key.startsWith("Arrow") && !view.hidden && (target === view || target === document.body)) {
      event.preventDefault();
      onArrow(key);
    } else if (KEYS[key] && isSeen && (key !== "Enter" || target === view)) {
      event.preventDefault();
      KEYS[key]();
    }
  }
  // In a page of its own the keys work everywhere; among other parts, while something of this one has the focus.
  // In the app, keys outside of the part are those of its pages.
  (isWhole && !life ? document.body : part).addEventListener("keydown", onKey, until(life));

  const missing = words.missing();
  by(part, "missing").hidden = !missing;
  by(part, "missing").textContent = missing;

  // Nothing has a time: what there is to say is said.
  if (!data.tracks.length && !data.counters.length) {
    for (const name of ["tools", "view", "details"]) by(part, name).hidden = true;
    return;
  }
  /** Kinds of work; the one that is pressed stands out. */
  const legend = by(part, "legend");
  function drawLegend() {
    const buttons = model.kinds().map(([kind, own]) => {
      const press = button(
        "",
        () => {
          model.lit = model.lit === kind ? NO_KIND : kind;
          drawLegend();
          remember();
          schedule();
          legend.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
        },
        model.lit === kind,
      );
      const patch = named("i", "", "patch");
      patch.style.background = `var(--${kindToken(kind, data.categories)})`;
      press.append(patch, kindName(kind, data.categories), named("span", amount(BigInt(Math.round(own))), "n"));
      return press;
    });
    legend.replaceChildren(...buttons);
    legend.hidden = buttons.length === 0;
  }
  onRedraw(() => {
    paint.dress();
    overview.dress();
    resize();
  }, life);
  drawLegend();
  new ResizeObserver(() => {
    const isOther = view.clientWidth !== model.wide || view.clientHeight !== model.high;
    if (!view.hidden && isOther && !isPrinting()) resize();
  }).observe(view);
  paint.dress();
  overview.dress();
  model.wide = view.clientWidth;
  model.high = view.clientHeight;
  resize();
  model.foldMost();
  arrange();
  recall();
  addEventListener("hashchange", recall, until(life));
  // What is seen next has another address.
  life?.addEventListener("abort", () => {
    clearTimeout(remembering);
    clearTimeout(asking);
  });
  draw();
}
