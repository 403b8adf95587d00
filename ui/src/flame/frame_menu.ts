/* The menu of the selected frame, and what of it can be copied. */
import { by, copy } from "../shared/dom";
import { openMenu } from "../shared/menu";
import { toast } from "../shared/toast";
import type { FlameGraph } from "./graph";

async function copyText(text: string, done: string): Promise<void> {
  toast((await copy(text)) ? done : "This browser does not let pages copy");
}

/** Copies the stack of the selected frame: a line a frame, or all in one. */
export async function copyStack({ model }: FlameGraph, folded: boolean): Promise<void> {
  if (model.selected >= 0) await copyText(model.stack(folded), "Stack copied");
}

/** Opens the menu where a press was. */
export function showMenu(graph: FlameGraph, x: number, y: number): void {
  const { model, data, cutting, symbol } = graph;
  const node = model.selected;
  if (node < 0) return;
  const name = data.names[symbol];
  const place = data.held.places[symbol];
  const off = !cutting.isPossible;
  openMenu(by(graph.part, "menu"), x, y, [
    { text: "Zoom", key: "Enter", run: () => graph.zoom(node) },
    { text: "Focus on the function", key: "f", run: () => cutting.focus(), off },
    { text: "Hide the function", key: "h", run: () => cutting.hideSelected(), off },
    { text: "Collapse recursion", key: "r", run: () => cutting.collapse(), off },
    { text: "Callers and callees", key: "", run: () => graph.choose(graph.symbol), off: !graph.isWhole },
    { text: "Take the last one back", key: "u", run: () => cutting.undo(), off: !cutting.canUndo },
    { text: "Copy name", key: "", run: () => copyText(name, "Name copied") },
    { text: "Copy stack", key: "c", run: () => copyStack(graph, false) },
    ...(/:\d+$/.test(place)
      ? [{ text: "Copy file and line", key: "", run: () => copyText(place, `Copied: ${place}`) }]
      : []),
  ]);
}

/** Opens the menu at the selected frame. */
export function showMenuOfSelected(graph: FlameGraph): void {
  const { view, model, paint } = graph;
  const bounds = view.getBoundingClientRect();
  const [x, y] = model.selected < 0 ? [0, 0] : paint.spot(model.selected);
  showMenu(graph, bounds.left + x, bounds.top + y);
}
