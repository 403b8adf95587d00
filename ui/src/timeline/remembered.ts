/* The address remembers what is looked at, and how. */
import { Address } from "../shared/address";
import type { TimelineChart } from "./chart";
import { exact, halves } from "./data";
import { ORDERS } from "./layout";

/** Milliseconds after the last change, when the address takes it over. */
const STILL = 250;
const NANOSECONDS = /^-?\d{1,20}$/;

export class Remembered {
  private readonly address: Address;
  private waiting = 0;
  private isRecalling = false;
  /** The window that is shown at first. */
  private first = "";

  constructor(
    private readonly chart: TimelineChart,
    life?: AbortSignal,
  ) {
    this.address = new Address(chart.part.id);
    // What is seen next has another address.
    life?.addEventListener("abort", () => clearTimeout(this.waiting));
  }

  private window(): string {
    const { model } = this.chart;
    return `${model.leftEdge()}_${Math.round(model.view.span)}`;
  }

  /** Writes the address once nothing has changed for a moment. */
  later(): void {
    if (this.isRecalling) return;
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.write(), STILL);
  }

  private write(): void {
    const { model, rows } = this.chart;
    const [from, to] = model.measured.map(({ h, l }) => exact(h, l));
    const window = this.window();
    this.address.set({
      v: window === this.first ? null : window,
      s: model.words,
      i: model.selected < 0 || model.selected >= model.t.total ? null : model.selected,
      p: model.layout.pinned.join("."),
      k: model.litWord,
      o: model.layout.order === ORDERS[0] ? null : model.layout.order,
      x: model.layout.turned.join("."),
      m: to === undefined ? null : `${from}_${to}`,
      tb: rows.hidden ? null : model.track || "all",
    });
  }

  /** Shows what the address says. */
  recall(): void {
    clearTimeout(this.waiting);
    this.isRecalling = true;
    this.recallTracks();
    this.recallWindow();
    this.recallItems();
    this.isRecalling = false;
    this.chart.schedule();
  }

  private recallTracks(): void {
    const { address, chart } = this;
    const { model } = chart;
    model.layout.order = ORDERS.find((one) => one === address.get("o")) ?? ORDERS[0];
    chart.order.value = model.layout.order;
    model.layout.turned = (address.get("x") ?? "").split(".").filter((key) => /^([tc]|idle)\d+$/.test(key));
    model.litWord = address.get("k") ?? "";
    chart.legend.draw();
    model.layout.pinned = (address.get("p") ?? "").split(".").filter((key) => /^[tc]\d+$/.test(key));
  }

  private recallWindow(): void {
    const { address, chart } = this;
    const { bulk } = chart.model.data;
    chart.showAll();
    if (bulk.length) {
      const [from, to] = bulk.map(BigInt);
      const { h, l } = halves(from);
      chart.showWindow(h, l, Number(to - from));
    }
    this.first = this.window();
    chart.arrange();
    const [from, span] = (address.get("v") ?? "").split("_");
    if (NANOSECONDS.test(from) && Number(span) > 0) {
      const { h, l } = halves(BigInt(from));
      chart.showWindow(h, l, Number(span));
    }
  }

  private recallItems(): void {
    const { address, chart } = this;
    const { model, rows } = chart;
    const found = address.get("s") ?? "";
    if (found !== model.words) chart.find(found);
    const item = address.get("i") ?? "";
    chart.select(/^\d+$/.test(item) && Number(item) < model.t.total ? Number(item) : -1);
    const ends = (address.get("m") ?? "").split("_").filter((ns) => NANOSECONDS.test(ns));
    model.measured = ends.length === 2 ? ends.map((ns) => halves(BigInt(ns))) : [];
    if (model.measured.length) chart.measuring.tellRan();
    const track = address.get("tb");
    if (track && track !== "all") model.track = track;
    if (rows.hidden === !!track) chart.showTable(!!track);
  }
}
