import { named } from "./dom";

/** The one tooltip of a part: a name and what is said of it, beside the pointer and within the window. */
export class Tip {
  constructor(private readonly element: HTMLElement) {
    addEventListener("scroll", () => this.hide(), { capture: true, passive: true });
    addEventListener("keydown", () => this.hide(), { capture: true });
    addEventListener("input", () => this.hide(), { capture: true });
  }

  hide(): void {
    this.element.hidden = true;
  }

  show(name: string, pairs: readonly (readonly [label: string, value: string])[], x: number, y: number): void {
    const { element } = this;
    element.hidden = false;
    const list = named("dl");
    for (const [label, value] of pairs) list.append(named("dt", label), named("dd", value));
    element.replaceChildren(named("b", name), list);
    const { offsetWidth: wide, offsetHeight: high } = element;
    element.style.left = `${Math.max(4, x + 14 + wide > innerWidth ? x - wide - 10 : x + 14)}px`;
    element.style.top = `${Math.max(4, y + 18 + high > innerHeight ? y - high - 10 : y + 18)}px`;
  }
}
