/* Kinds of work, with what they came to by themselves where every span is known; the one that is pressed stands out. */
import { button, by, named } from "../shared/dom";
import { kindName, kindToken } from "../shared/kinds";
import type { TimelineChart } from "./chart";
import { NO_KIND } from "./model";
import { amount } from "./words";

export class Legend {
  private readonly place: HTMLElement;

  constructor(private readonly chart: TimelineChart) {
    this.place = by(chart.part, "legend");
  }

  draw(): void {
    const { model } = this.chart;
    const { all, categories } = model.data;
    const buttons = model.kinds().map(([kind, own]) => {
      const press = button("", () => this.light(kind), model.lit === kind);
      const patch = named("i", "", "patch");
      patch.style.background = `var(--${kindToken(kind, categories)})`;
      press.append(patch, kindName(kind, categories));
      // Of what is drawn together it is not known how much was below, nor of which kinds it was.
      if (all) press.append(this.time(BigInt(Math.round(own))));
      return press;
    });
    this.place.replaceChildren(...buttons);
    this.place.hidden = buttons.length === 0;
  }

  private time(own: bigint): HTMLElement {
    const time = named("span", amount(own), "n");
    time.dataset.ns = String(own);
    return time;
  }

  /** Has a kind of work stand out, or no more. */
  private light(kind: number): void {
    const { model } = this.chart;
    model.lit = model.lit === kind ? NO_KIND : kind;
    this.draw();
    this.chart.remember();
    this.chart.schedule();
    this.place.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
  }
}
