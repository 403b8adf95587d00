/* The keys of a timeline. */
import { by, stepFocus, until } from "../shared/dom";
import { isMenuKey } from "../shared/menu";
import { switchTheme } from "../shared/theme";
import type { TimelineChart } from "./chart";
import { showMenuOfSelected } from "./span_menu";

/** Listens to keys until `life` ends. */
export function listenToKeys(chart: TimelineChart, life?: AbortSignal): void {
  const keys = keysOf(chart);
  // In a page of its own the keys work everywhere; among other parts, while something of this one has the focus.
  // In the app, keys outside of the part are those of its pages.
  const isWhole = document.body.classList.contains("whole");
  const place = isWhole && !life ? document.body : chart.part;
  place.addEventListener("keydown", (event) => press(chart, keys, event), until(life));
}

/** Shows the list of keys, or hides it. */
export function toggleHelp(chart: TimelineChart): void {
  const keys = by(chart.part, "keys");
  keys.hidden = !keys.hidden;
  by(chart.part, "help").setAttribute("aria-expanded", String(!keys.hidden));
  chart.resize();
}

function keysOf(chart: TimelineChart): Record<string, () => void> {
  const { model } = chart;
  /** Goes along the rows of the table. */
  const toRow = (step: 1 | -1) => stepFocus(chart.rows.querySelectorAll<HTMLElement>("tbody .name button"), step);
  return {
    w: () => chart.zoom(0.7, chart.pointer ?? undefined),
    s: () => chart.zoom(1 / 0.7, chart.pointer ?? undefined),
    "+": () => chart.open(true),
    "-": () => chart.open(false),
    a: () => chart.move(-model.plot / 8),
    d: () => chart.move(model.plot / 8),
    0: () => chart.showAll(),
    m: () => chart.measuring.begin(),
    n: () => chart.step(true),
    N: () => chart.step(false),
    f: () => chart.zoomToSelected(),
    Enter: () => chart.zoomToSelected(),
    p: () => model.track && chart.pin(model.track),
    "[": () => chart.step(false),
    "]": () => chart.step(true),
    ".": () => showMenuOfSelected(chart),
    v: () => chart.toggleTable(),
    j: () => toRow(1),
    k: () => toRow(-1),
    t: switchTheme,
    "?": () => toggleHelp(chart),
    Escape: () => leave(chart),
  };
}

function press(chart: TimelineChart, keys: Record<string, () => void>, event: KeyboardEvent): void {
  const { search, view, order } = chart;
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
    if (key === "Escape") leave(chart);
    else if (key === "Enter") chart.step(!event.shiftKey);
  } else if (isMenuKey(event) && target === view) {
    event.preventDefault();
    showMenuOfSelected(chart);
  } else if (isCommand || event.altKey || target === order) {
    return;
  } else if (key.startsWith("Arrow") && !view.hidden && (target === view || target === document.body)) {
    event.preventDefault();
    arrow(chart, key);
  } else if (keys[key] && isSeen && (key !== "Enter" || target === view)) {
    event.preventDefault();
    keys[key]();
  }
}

/** Goes from span to span; without a selection, along the drawing. */
function arrow(chart: TimelineChart, key: string): void {
  const { model, view } = chart;
  if (model.selected >= 0) {
    const to = model.walk(key);
    if (to >= 0) chart.select(to, "here");
  } else if (key === "ArrowLeft" || key === "ArrowRight") {
    chart.move(((key === "ArrowLeft" ? -1 : 1) * model.plot) / 8);
  } else view.scrollTop += key === "ArrowUp" ? -60 : 60;
}

/** Goes back by one step: the list of keys, what is measured, the search, then the selection. */
function leave(chart: TimelineChart): void {
  const { part, model, measuring, view } = chart;
  if (!by(part, "keys").hidden) toggleHelp(chart);
  else if (measuring.isOn || model.measured.length) measuring.end();
  else if (model.words) chart.find("");
  else chart.select(-1);
  view.focus();
}
