/* The menu of the selected span. */
import { by, copy } from "../shared/dom";
import { openMenu } from "../shared/menu";
import { exactly } from "../shared/search";
import { toast } from "../shared/toast";
import type { TimelineChart } from "./chart";
import { HEAD } from "./model";

async function copyText(text: string): Promise<void> {
  toast((await copy(text)) ? "Copied" : "This browser does not let pages copy");
}

/** Opens the menu where a press was. */
export function showMenu(chart: TimelineChart, x: number, y: number): void {
  const { model, words } = chart;
  const { selected: item } = model;
  if (item < 0) return;
  const { key } = model.trackOf(item);
  const name = words.full(item);
  const details = () => [name, ...words.tell(item).map((pair) => pair.join(": "))].join("\n");
  openMenu(by(chart.part, "menu"), x, y, [
    { text: "Zoom to it", key: "f", run: () => chart.zoomTo(item) },
    { text: "What ran meanwhile", key: "", run: () => chart.measuring.measure(item) },
    { text: "Find others of this name", key: "", run: () => chart.find(exactly(name)) },
    {
      text: model.layout.pinned.includes(key) ? "Let its track go" : "Pin its track",
      key: "p",
      run: () => chart.pin(key),
    },
    { text: "Copy name", key: "", run: () => copyText(name) },
    { text: "Copy details", key: "", run: () => copyText(details()) },
  ]);
}

/** Opens the menu below the selected span. */
export function showMenuOfSelected(chart: TimelineChart): void {
  const { model, view } = chart;
  const { selected, t } = model;
  const bounds = view.getBoundingClientRect();
  const spot = selected < 0 ? null : model.spot(selected, model.layout.lines);
  const x = selected < 0 ? 0 : Math.min(Math.max(model.place(t.sh[selected], t.sl[selected]), 0), model.plot);
  const y = spot ? HEAD + model.layout.pinnedHeight + spot.top + spot.height - view.scrollTop : HEAD;
  showMenu(chart, bounds.left + model.left + x, bounds.top + Math.min(Math.max(y, HEAD), model.high));
}
