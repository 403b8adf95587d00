import { named, until } from "./dom";

/** Milliseconds for which a pointer rests before the first tip; from tip to tip there is no wait. */
const REST = 150;
/** Pixels between the pointer and a tip. */
const [BESIDE, BELOW] = [14, 18];
/** Pixels that a tip stays away from the edges of the window. */
const EDGE = 4;

type Pairs = readonly (readonly [label: string, value: string])[];

/** The one tooltip of a part: a name and what is said of it, beside the pointer and within the window. */
export class Tip {
  private waiting = 0;
  private next: (() => void) | null = null;

  constructor(
    private readonly element: HTMLElement,
    life?: AbortSignal,
  ) {
    for (const what of ["scroll", "wheel", "keydown", "input", "pointerdown"]) {
      addEventListener(what, () => this.hide(), { capture: true, passive: true, ...until(life) });
    }
  }

  hide(): void {
    clearTimeout(this.waiting);
    this.next = null;
    this.element.hidden = true;
  }

  show(name: string, pairs: Pairs, x: number, y: number): void {
    const show = () => this.place(name, pairs, x, y);
    if (!this.element.hidden) {
      show();
      return;
    }
    // What the pointer came to last is told, not what it passed.
    const isWaiting = this.next !== null;
    this.next = show;
    if (isWaiting) return;
    this.waiting = window.setTimeout(() => {
      this.next?.();
      this.next = null;
    }, REST);
  }

  private place(name: string, pairs: Pairs, x: number, y: number): void {
    const { element } = this;
    element.hidden = false;
    const list = named("dl");
    for (const [label, value] of pairs) list.append(named("dt", label), named("dd", value));
    element.replaceChildren(named("b", name), list);
    const { offsetWidth: wide, offsetHeight: high } = element;
    const isRight = x + BESIDE + wide + EDGE <= innerWidth;
    const isLeft = !isRight && x - BESIDE - wide >= EDGE;
    const isBelow = y + BELOW + high + EDGE <= innerHeight;
    // Where it is as wide as the window it stands under the pointer's line or above it, never under the pointer.
    const left = isRight ? x + BESIDE : isLeft ? x - BESIDE - wide : EDGE;
    const top = isBelow ? y + BELOW : y - BELOW - high;
    element.style.left = `${left}px`;
    element.style.top = `${isRight || isLeft ? Math.max(EDGE, top) : top}px`;
  }
}
