/* Mouse and fingers on a flame graph: a press selects and a second one zooms, a drag moves what is zoomed. */
import { onMenu } from "../shared/menu";
import { Pinch } from "../shared/pinch";
import { showMenu } from "./frame_menu";
import type { FlameGraph } from "./graph";
import { NOTHING } from "./model";

/** Wheel notches that double a zoom, in pixels. */
const NOTCH = 200;
/** Pixels from a press to a drag. */
const SLACK = 4;

/** What a drag moves: the graph, the window of the map, or a new window over the whole. */
interface Drag {
  x: number;
  from: number;
  moved: boolean;
  what: "graph" | "window" | "whole";
}

/** Listens to what is done to the drawing. */
export function listenToMouse(graph: FlameGraph): void {
  const mouse = new Mouse(graph);
  const { view, paint, tip } = graph;
  view.addEventListener("pointerdown", (event) => mouse.press(event));
  view.addEventListener("pointermove", (event) => mouse.move(event));
  view.addEventListener("pointerup", () => mouse.release());
  view.addEventListener("click", (event) => mouse.click(event));
  view.addEventListener("pointerleave", () => {
    graph.model.hovered = -1;
    tip.hide();
    paint.schedule();
  });
  onMenu(view, (event) => mouse.menu(event));
  view.addEventListener("wheel", (event) => mouse.wheel(event), { passive: false });
  view.addEventListener("scroll", () => paint.schedule(), { passive: true });
}

class Mouse {
  private readonly fingers: Pinch;
  private drag: Drag | null = null;

  constructor(private readonly graph: FlameGraph) {
    this.fingers = new Pinch(graph.view);
  }

  /** The place of an event in the drawing. */
  private within(event: MouseEvent): readonly [x: number, y: number] {
    const bounds = this.graph.view.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  }

  private share(pixels: number): number {
    return pixels / this.graph.view.clientWidth;
  }

  press(event: PointerEvent): void {
    const { canvas, model, paint } = this.graph;
    if (event.button !== 0 || event.target !== canvas) return;
    const [x, y] = this.within(event);
    const [from, range] = model.window;
    const at = this.share(x);
    const isWindow = at >= from && at < from + range;
    const what = !paint.isOnMap(y) ? "graph" : isWindow ? "window" : "whole";
    this.drag = { x: event.clientX, from, moved: false, what };
  }

  release(): void {
    // Behind the click, which is not one at the end of a drag.
    setTimeout(() => {
      this.drag = null;
    });
  }

  move(event: PointerEvent): void {
    const { drag } = this;
    const isPinched = this.pinch(event);
    const isDrag = drag && event.buttons === 1 && Math.abs(event.clientX - drag.x) >= SLACK;
    if (isPinched) this.graph.tip.hide();
    else if (isDrag) this.moveDrag(drag, event);
    else this.hover(event);
  }

  private pinch(event: PointerEvent): boolean {
    return this.fingers.move(event, (before, after) => {
      if (this.drag) this.drag.moved = true;
      this.magnify(before.far / after.far, before.middle);
      const [from, range] = this.graph.model.window;
      this.graph.lookAt(from + this.share(before.middle - after.middle) * range, range);
    });
  }

  private moveDrag(drag: Drag, event: PointerEvent): void {
    const { graph } = this;
    const { view, model } = graph;
    if (!drag.moved) view.setPointerCapture(event.pointerId);
    drag.moved = true;
    graph.tip.hide();
    const [, range] = model.window;
    const by = this.share(event.clientX - drag.x);
    const at = this.share(drag.x - view.getBoundingClientRect().left);
    if (drag.what === "window") graph.lookAt(drag.from + by, range);
    else if (drag.what === "whole") graph.lookAt(Math.min(at, at + by), Math.abs(by));
    else if (range < 1) graph.lookAt(drag.from - by * range, range);
  }

  private hover(event: PointerEvent): void {
    const { model, paint, tip } = this.graph;
    const [x, y] = this.within(event);
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
  }

  click(event: MouseEvent): void {
    // What lies under the end of a drag was not pressed.
    if (this.drag?.moved) return;
    const { graph } = this;
    const { model, seen } = graph;
    const { tree } = model;
    const node = graph.paint.at(...this.within(event));
    if (node === NOTHING) return;
    const isCaller = node < 0 || (seen.zoomed >= 0 && tree.depth[node] < tree.depth[seen.zoomed]);
    if (isCaller) graph.zoom(node);
    else if (node === seen.zoomed) graph.zoom(tree.parent[node]);
    else if (node === model.selected) graph.zoom(node);
    else graph.select(node);
  }

  menu(event: MouseEvent): boolean {
    const { graph } = this;
    const node = graph.paint.at(...this.within(event));
    if (node < 0) return false;
    graph.tip.hide();
    graph.select(node);
    showMenu(graph, event.clientX, event.clientY);
    return true;
  }

  wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.magnify(2 ** (event.deltaY / NOTCH), this.within(event)[0]);
  }

  /** Shows so many times of the window, around a pixel of it. */
  private magnify(factor: number, x: number): void {
    const [from, range] = this.graph.model.window;
    const next = Math.min(range * factor, 1);
    this.graph.lookAt(from + this.share(x) * (range - next), next);
  }
}
