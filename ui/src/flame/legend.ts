/* The legend: kinds of work with what they came to by themselves, or the colours of a difference. */
import { by, named } from "../shared/dom";
import type { FlameGraph } from "./graph";
import { NOTHING } from "./model";

export class Legend {
  private readonly place: HTMLElement;

  constructor(private readonly graph: FlameGraph) {
    this.place = by(graph.part, "legend");
  }

  draw(): void {
    const { place } = this;
    const { colours } = this.graph.seen;
    place.hidden = colours === "package";
    // Without buttons in it, the keyboard must reach it to scroll.
    if (colours === "change") place.tabIndex = 0;
    else place.removeAttribute("tabindex");
    if (colours === "category") place.replaceChildren(...this.kinds());
    else if (colours === "change") place.replaceChildren(...this.changes());
  }

  /** Has a kind of work stand out, or no more. */
  light(kind: number): void {
    const { model, paint, stacks } = this.graph;
    model.lit = kind === model.lit ? NOTHING : kind;
    this.graph.remember();
    this.draw();
    paint.schedule();
    stacks.draw();
  }

  private kinds(): Node[] {
    const { model } = this.graph;
    const kinds: Node[] = model.kinds().map(([kind, own]) => this.kind(kind, own));
    const none = model.inNoFrame;
    // Kinds of work go by callers, which are not known of what has no frame.
    if (none) kinds.push(named("span", `in no frame ${model.amount(none)} · ${model.share(none)}`, "about-scale"));
    return kinds;
  }

  private kind(kind: number, own: number): HTMLButtonElement {
    const { model, data, paint, cutting } = this.graph;
    const button = named("button");
    const patch = named("i", "", "patch");
    button.type = "button";
    button.setAttribute("aria-pressed", String(kind === model.lit));
    button.dataset.kind = kind < 0 ? "" : data.held.categories[kind];
    button.title = own ? "Press: only this kind; Alt and press: hide it" : "nothing of it is in what is shown";
    button.disabled = own === 0;
    button.onclick = (event) => {
      if (event.altKey) return cutting.hide(model.functionsOf(kind));
      this.light(kind);
      this.place.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
    };
    patch.style.background = paint.kindColour(kind);
    const said = [model.amount(own), model.share(own)].filter(Boolean).join(" · ");
    button.append(patch, model.kindName(kind), named("span", said, "n"));
    return button;
  }

  private changes(): Node[] {
    const { model, seen } = this.graph;
    const scale = named("span", "", "scale");
    scale.role = "img";
    scale.ariaLabel = "Colours from faster to slower";
    for (const name of ["d-f3", "d-f2", "d-f1", "d-0", "d-s1", "d-s2", "d-s3"]) {
      const patch = named("i");
      patch.style.background = `var(--${name})`;
      scale.append(patch);
    }
    const what = seen.ofTotal ? "total" : "self";
    const steps = `slower; steps at 0.1, 0.5 and 2 % of all before, by the change of ${what}`;
    const beyond = model.tree.base ? "" : "; here kinds of work are drawn: changes are of paths from the root";
    return [named("span", "faster", "about-scale"), scale, named("span", steps + beyond, "about-scale")];
  }
}
