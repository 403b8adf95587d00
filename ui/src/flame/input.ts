/* Starts a flame graph: what it listens to. */
import { by, until } from "../shared/dom";
import { dropStrips } from "../shared/strips";
import { isPrinting, onRedraw } from "../shared/theme";
import { onZone } from "../shared/zone";
import type { Held } from "./data";
import { copyStack } from "./frame_menu";
import { FlameGraph } from "./graph";
import { listenToKeys, toggleHelp } from "./keys";
import { listenToMouse } from "./mouse";

/** Starts a graph of one or several values, until `life` ends; the first that is not zero is shown. */
export function startFlame(part: HTMLElement, held: Held[], life?: AbortSignal): void {
  if (!held.length) return;
  const graph = new FlameGraph(part, held, life);
  const { view, paint, canvas } = graph;
  by(part, "help").onclick = () => toggleHelp(graph);
  by(part, "copy-stack").onclick = () => copyStack(graph, false);
  by(part, "copy-folded").onclick = () => copyStack(graph, true);
  onZone(() => graph.changeZone(), life);
  listenToMouse(graph);
  listenToKeys(graph, life);
  new ResizeObserver(() => {
    graph.fit();
    paint.resize();
  }).observe(graph.isWhole ? by(part, "work") : view);
  onRedraw(() => {
    graph.dress();
    paint.resize();
    paint.draw();
    if (isPrinting() && !view.hidden) paint.cutStrips();
    else dropStrips(canvas);
  }, life);
  addEventListener("hashchange", () => graph.recall(), until(life));
  graph.recall();
}
