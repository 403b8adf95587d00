/* The keys of a flame graph. */
import { by, stepFocus, until } from "../shared/dom";
import { isMenuKey } from "../shared/menu";
import { switchTheme } from "../shared/theme";
import { copyStack, showMenuOfSelected } from "./frame_menu";
import type { FlameGraph } from "./graph";
import type { Key } from "./model";

/** Listens to keys until `life` ends. */
export function listenToKeys(graph: FlameGraph, life?: AbortSignal): void {
  const keys = keysOf(graph);
  // A page of one graph takes its keys anywhere.
  // In the app, keys outside of the part are those of its pages.
  const place = graph.isWhole && !life ? document.body : graph.part;
  place.addEventListener("keydown", (event) => press(graph, keys, event), until(life));
}

/** Shows the list of keys, or hides it. */
export function toggleHelp({ part }: FlameGraph): void {
  const keys = by(part, "keys");
  keys.hidden = !keys.hidden;
  by(part, "help").setAttribute("aria-expanded", String(!keys.hidden));
}

function keysOf(graph: FlameGraph): Record<string, () => void> {
  const { cutting } = graph;
  const invert = () => graph.change({ inverted: !graph.seen.inverted });
  return {
    x: () => graph.change({ upwards: !graph.seen.upwards }),
    i: invert,
    b: invert,
    m: () => graph.model.grouping && graph.change({ merged: !graph.seen.merged }),
    c: () => copyStack(graph, false),
    C: () => copyStack(graph, true),
    f: () => cutting.focus(),
    h: () => cutting.hideSelected(),
    r: () => cutting.collapse(),
    u: () => cutting.undo(),
    j: () => toRow(graph, 1),
    k: () => toRow(graph, -1),
    n: () => graph.step(true),
    N: () => graph.step(false),
    t: switchTheme,
    "?": () => toggleHelp(graph),
    ".": () => showMenuOfSelected(graph),
    0: () => graph.zoom(-1),
  };
}

function press(graph: FlameGraph, keys: Record<string, () => void>, event: KeyboardEvent): void {
  const { search, view, model } = graph;
  const { key, target } = event;
  const isTyping = target === search;
  // What is typed into fields around the part is not meant for it.
  if (event.defaultPrevented || (target instanceof HTMLInputElement && !isTyping)) return;
  const isCommand = event.ctrlKey || event.metaKey;
  if ((isCommand && key === "f" && graph.isWhole) || (key === "/" && !isTyping)) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (isMenuKey(event) && target === view) {
    event.preventDefault();
    showMenuOfSelected(graph);
  } else if (key === "Escape") leave(graph);
  else if (isTyping || isCommand || event.altKey || target instanceof HTMLSelectElement) {
    if (isTyping && key === "Enter" && !view.hidden) view.focus();
  } else if (/^[1-9]$/.test(key) && graph.seen.colours === "category") {
    const [kind, own] = model.kinds()[Number(key) - 1] ?? [];
    if (kind !== undefined && own) graph.legend.light(kind);
  } else if (keys[key]) keys[key]();
  else if (view.hidden) return;
  else if (key.startsWith("Arrow") && !(target as Element).closest(".low, .rows")) {
    event.preventDefault();
    graph.walk(key as Key);
  } else if (key === "Enter" && target === view && model.selected >= 0) graph.zoom(model.selected);
}

/** Goes back by one step: the list of keys, the search, then what is zoomed. */
function leave(graph: FlameGraph): void {
  const { part, seen, model, view, rows } = graph;
  if (!by(part, "keys").hidden) toggleHelp(graph);
  else if (seen.words) graph.find("");
  else if (seen.zoomed >= 0) graph.zoom(model.tree.parent[seen.zoomed]);
  else graph.zoom(-1);
  (view.hidden ? rows : view).focus();
}

/** Goes along the rows of the table that is shown. */
function toRow({ rows, part }: FlameGraph, step: 1 | -1): void {
  const place = rows.hidden ? by(part, "funcs") : rows;
  stepFocus(place.querySelectorAll<HTMLElement>("tbody .name button"), step);
}
