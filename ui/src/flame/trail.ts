/* The callers of what is zoomed, as buttons that zoom out to them. */
import { button, by } from "../shared/dom";
import type { FlameGraph } from "./graph";

/** The nearest callers matter; the picture above shows the others. */
const MOST = 8;

/** Shows the way from the root to a node. */
export function showPath(graph: FlameGraph, node: number): void {
  const { model, data, part } = graph;
  const path = by(part, "path");
  const callers: number[] = [];
  path.textContent = "";
  by<HTMLButtonElement>(part, "reset").disabled = model.window[1] >= 1;
  for (let up = node; up >= 0; up = model.tree.parent[up]) callers.push(up);
  if (callers.length > MOST) path.append("… ");
  for (const caller of callers.slice(0, MOST).reverse()) {
    const forms = data.forms(model.tree.symbol[caller]);
    const id = model.idOf(caller);
    const press = button(forms[Math.min(1, forms.length - 1)] || "(no name)", () => graph.zoom(graph.model.nodeOf(id)));
    path.append(path.lastChild instanceof Element ? " › " : "", press);
  }
}
