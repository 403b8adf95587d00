/* The distance between two moments, and what ran between them. */
import { by } from "../shared/dom";
import { exactly } from "../shared/search";
import type { Moment } from "../shared/source";
import type { TimelineChart } from "./chart";
import { exact } from "./data";
import { measured } from "./paint";
import { ranIn } from "./range";
import { ranTable } from "./table";

export class Measuring {
  /** The next press is a point. */
  isOn = false;

  constructor(private readonly chart: TimelineChart) {}

  private turn(on: boolean): void {
    this.isOn = on;
    by(this.chart.part, "measure").setAttribute("aria-pressed", String(on));
  }

  /** Takes both points away. */
  end(): void {
    this.turn(false);
    this.chart.model.measured = [];
    this.chart.remember();
    this.chart.schedule();
  }

  /** Begins with the pointer, else with the selection; else the next press is the first point. */
  begin(): void {
    const { model, pointer } = this.chart;
    const { selected: item, t } = model;
    if (pointer !== null) this.add(model.snap(pointer));
    else if (item >= 0) {
      const isEnd = model.measured.length === 1;
      this.add(isEnd ? { h: t.eh[item], l: t.el[item] } : { h: t.sh[item], l: t.sl[item] });
    } else {
      model.measured = [];
      this.turn(true);
    }
  }

  /** Measures an item from its start to its end. */
  measure(item: number): void {
    const { t } = this.chart.model;
    this.chart.model.measured = [
      { h: t.sh[item], l: t.sl[item] },
      { h: t.eh[item], l: t.el[item] },
    ];
    this.tellRan();
    this.chart.schedule();
  }

  /** Takes a point: the first, or the second. */
  add(where: Moment): void {
    const { model } = this.chart;
    model.measured = model.measured.length === 1 ? [model.measured[0], where] : [where];
    this.turn(model.measured.length === 1);
    if (model.measured.length === 2) this.tellRan();
    this.chart.schedule();
  }

  /** Begins a drag at a moment. */
  beginDrag(where: Moment): void {
    this.chart.model.measured = [];
    this.add(where);
  }

  /** Moves the end of a drag. */
  drag(where: Moment): void {
    this.chart.model.measured[1] = where;
    this.tell();
    this.chart.schedule();
  }

  endDrag(moved: boolean): void {
    this.turn(false);
    if (moved) this.tellRan();
    else this.chart.model.measured = [];
    this.chart.schedule();
  }

  private tell(): void {
    this.chart.details.textContent = `Measured: ${measured(this.chart.model.distance())}`;
  }

  /** Says what ran between the two points. */
  tellRan(): void {
    const { chart } = this;
    const { model } = chart;
    this.tell();
    const [from, to] = model.measured.map(({ h, l }) => exact(h, l)).sort((a, b) => (a < b ? -1 : 1));
    const ran = ranIn(model, from, to);
    if (ran.functions.length || ran.together)
      chart.details.append(ranTable(model, ran, (name) => chart.find(exactly(name))));
    chart.remember();
    chart.resize();
  }
}
