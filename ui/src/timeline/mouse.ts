/* Mouse and fingers on a timeline: a press selects, a drag moves, with Shift it measures. */
import { onMenu } from "../shared/menu";
import { Pinch } from "../shared/pinch";
import type { TimelineChart } from "./chart";
import { HEAD } from "./model";
import { showMenu } from "./span_menu";
import { counterValue } from "./words";

/** Pixels from a press to a drag. */
const SLACK = 4;
/** Pixels of a track's pointer, before its name. */
const PIN = 18;

/** Listens to what is done to the drawing. */
export function listenToMouse(chart: TimelineChart): void {
  const mouse = new Mouse(chart);
  const { view } = chart;
  view.addEventListener("pointerdown", (event) => mouse.press(event));
  view.addEventListener("pointermove", (event) => mouse.move(event));
  view.addEventListener("pointerup", () => mouse.release());
  view.addEventListener("pointercancel", () => mouse.cancel());
  view.addEventListener("pointerleave", () => mouse.leave());
  onMenu(view, (event) => mouse.menu(event));
  view.addEventListener("dblclick", (event) => mouse.pressTwice(event));
  view.addEventListener("wheel", (event) => mouse.wheel(event), { passive: false });
  view.addEventListener("scroll", () => chart.schedule(), { passive: true });
}

class Mouse {
  private readonly fingers: Pinch;
  private drag: { x: number; y: number; moved: boolean; measure: boolean } | null = null;
  /** The border between names and drawing is dragged. */
  private isWidening = false;

  constructor(private readonly chart: TimelineChart) {
    this.fingers = new Pinch(chart.view);
  }

  /** The place of an event in the drawing. */
  private within(event: MouseEvent): { x: number; y: number } {
    const bounds = this.chart.view.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  }

  private isBorder(x: number): boolean {
    return Math.abs(x - this.chart.model.left) < 4;
  }

  press(event: PointerEvent): void {
    const { canvas, view, model, measuring } = this.chart;
    if (event.button || event.target !== canvas) return;
    const { x, y } = this.within(event);
    if (this.isBorder(x)) {
      this.isWidening = true;
      view.setPointerCapture(event.pointerId);
      return;
    }
    this.drag = { x, y, moved: false, measure: event.shiftKey && x >= model.left };
    if (this.drag.measure) measuring.beginDrag(model.snap(x - model.left));
  }

  move(event: PointerEvent): void {
    const { chart, drag } = this;
    if (this.pinch(event)) {
      chart.tip.hide();
      return;
    }
    const { x, y } = this.within(event);
    if (this.isWidening) {
      chart.gutter = Math.min(Math.max(x, 96), 480);
      chart.resize();
      return;
    }
    const { left } = chart.model;
    chart.pointer = x >= left ? x - left : null;
    const isDrag = drag && (drag.moved || Math.abs(x - drag.x) + Math.abs(y - drag.y) > SLACK);
    if (isDrag) this.moveDrag(x, y, event);
    else this.hover(x, y, event);
  }

  /** Two fingers zoom the drawing around the middle between them. */
  private pinch(event: PointerEvent): boolean {
    return this.fingers.move(event, (before, after) => {
      const { chart } = this;
      this.drag = null;
      chart.model.zoom(before.far / after.far, Math.max(0, before.middle - chart.model.left));
      chart.move(before.middle - after.middle);
    });
  }

  private moveDrag(x: number, y: number, event: PointerEvent): void {
    const { chart, drag } = this;
    if (!drag) return;
    const { view, model } = chart;
    if (!drag.moved) {
      drag.moved = true;
      view.setPointerCapture(event.pointerId);
    }
    if (drag.measure) chart.measuring.drag(model.snap(x - model.left));
    else {
      chart.move(drag.x - x);
      if (event.pointerType !== "touch") view.scrollTop += drag.y - y;
      drag.x = x;
      drag.y = y;
    }
    chart.tip.hide();
  }

  private hover(x: number, y: number, event: PointerEvent): void {
    const { chart } = this;
    const { model, view, tip, words, measuring } = chart;
    const { line, item } = model.at(x, y, view.scrollTop);
    const counter = line?.counter;
    const reading = counter && x >= model.left ? model.reading(counter, x - model.left) : null;
    if (item >= 0) tip.show(words.full(item), words.tell(item), event.clientX, event.clientY);
    else if (line && x < model.left)
      tip.show(line.name, line.note ? [["", line.note]] : [], event.clientX, event.clientY);
    else if (counter && reading !== null) {
      tip.show(counter.name, [["value", counterValue(counter, reading)]], event.clientX, event.clientY);
    } else tip.hide();
    const plain = measuring.isOn ? "crosshair" : "default";
    view.style.cursor = this.isBorder(x) ? "col-resize" : x < model.left ? "pointer" : plain;
    if (item === model.hovered) return;
    model.hovered = item;
    chart.schedule();
  }

  release(): void {
    const { chart, drag } = this;
    this.cancel();
    if (drag?.measure) chart.measuring.endDrag(drag.moved);
    else if (drag && !drag.moved) this.choose(drag.x, drag.y);
  }

  cancel(): void {
    this.isWidening = false;
    this.drag = null;
  }

  /** Takes a press that was no drag. */
  private choose(x: number, y: number): void {
    const { chart } = this;
    const { model, view, measuring } = chart;
    const { line, item } = model.at(x, y, view.scrollTop);
    if (measuring.isOn && x >= model.left) measuring.add(model.snap(x - model.left));
    else if (x < PIN && line?.key) chart.pin(line.key);
    else if (x < model.left && line?.key) {
      model.track = line.key;
      if (line.folds) chart.fold(line.key);
      else chart.schedule();
    } else if (y >= HEAD) chart.select(item);
  }

  menu(event: MouseEvent): boolean {
    const { chart } = this;
    const { x, y } = this.within(event);
    const { item } = chart.model.at(x, y, chart.view.scrollTop);
    if (item < 0) return false;
    this.drag = null;
    chart.select(item);
    showMenu(chart, event.clientX, event.clientY);
    return true;
  }

  pressTwice(event: MouseEvent): void {
    const { x, y } = this.within(event);
    const { item } = this.chart.model.at(x, y, this.chart.view.scrollTop);
    if (item >= 0) this.chart.zoomTo(item);
  }

  leave(): void {
    this.chart.pointer = null;
    this.chart.model.hovered = -1;
    this.chart.tip.hide();
    this.chart.schedule();
  }

  wheel(event: WheelEvent): void {
    const { chart } = this;
    const x = this.within(event).x - chart.model.left;
    const isAcross = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) chart.zoom(2 ** (event.deltaY / 150), Math.max(0, x));
    else if (isAcross) chart.move(event.deltaX || event.deltaY);
    else return;
    event.preventDefault();
  }
}
