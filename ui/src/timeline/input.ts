/* Starts a timeline: what it listens to. */
import { by, until } from "../shared/dom";
import { isPrinting, onRedraw } from "../shared/theme";
import { onZone } from "../shared/zone";
import { TimelineChart } from "./chart";
import type { Held } from "./data";
import { listenToKeys, toggleHelp } from "./keys";
import { listenToMouse } from "./mouse";
import { TileRequests } from "./tile_requests";
import type { AskTile } from "./tiles";

/** The texts of a part's bytes. */
export const bitsOf = (part: Element): string[] =>
  Array.from(part.querySelectorAll(":scope > script[type='text/plain']"), (one) => one.textContent ?? "");

/** Starts a timeline, until `life` ends; `ask` answers for stretches of what the page does not hold one by one. */
export function startTimeline(part: HTMLElement, held: Held, life?: AbortSignal, ask?: AskTile): void {
  const chart = new TimelineChart(part, held, bitsOf(part), life);
  const { model, words, view } = chart;
  if (ask && !held.all) chart.requests = new TileRequests(chart, ask, life);
  listenToButtons(chart);
  listenToMouse(chart);
  listenToKeys(chart, life);
  onZone(() => chart.changeZone(), life);

  const missing = words.missing();
  by(part, "missing").hidden = !missing;
  by(part, "missing").textContent = missing;
  // Nothing has a time: what there is to say is said.
  if (!held.tracks.length && !held.counters.length) {
    for (const name of ["tools", "view", "details"]) by(part, name).hidden = true;
    return;
  }
  onRedraw(() => {
    chart.dress();
    chart.resize();
  }, life);
  chart.legend.draw();
  new ResizeObserver(() => {
    const isOther = view.clientWidth !== model.wide || view.clientHeight !== model.high;
    if (!view.hidden && isOther && !isPrinting()) chart.resize();
  }).observe(view);
  chart.dress();
  model.wide = view.clientWidth;
  model.high = view.clientHeight;
  chart.resize();
  model.layout.foldMost(model.wide, model.high);
  chart.arrange();
  chart.remembered.recall();
  addEventListener("hashchange", () => chart.remembered.recall(), until(life));
  chart.draw();
}

function listenToButtons(chart: TimelineChart): void {
  const { part, search, order, measuring } = chart;
  search.addEventListener("input", () => chart.find(search.value.trim()));
  order.onchange = () => chart.sort(order.value);
  const press = (name: string, run: () => void) => {
    by(part, name).onclick = run;
  };
  press("previous", () => chart.step(false));
  press("next", () => chart.step(true));
  press("in", () => chart.zoom(0.5));
  press("out", () => chart.zoom(2));
  press("all", () => chart.showAll());
  press("measure", () => {
    chart.pointer = null;
    if (measuring.isOn) measuring.end();
    else measuring.begin();
  });
  press("as-table", () => chart.toggleTable());
  press("help", () => toggleHelp(chart));
}
