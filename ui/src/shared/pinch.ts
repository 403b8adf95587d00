/* Two fingers on a drawing. */

/** Two fingers: how far they are apart, and the middle between them; pixels from the left edge of the drawing. */
interface Span {
  far: number;
  middle: number;
}

/** Fingers nearer than this are as far apart as this, so that a zoom has no jumps. */
const LEAST = 8;

/** Keeps the fingers that are on an element. */
export class Pinch {
  private readonly fingers = new Map<number, number>();

  constructor(private readonly element: HTMLElement) {
    element.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") this.fingers.set(event.pointerId, this.within(event));
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"] as const) {
      element.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    }
  }

  private within(event: PointerEvent): number {
    return event.clientX - this.element.getBoundingClientRect().left;
  }

  private span(): Span {
    const [a, b] = [...this.fingers.values()];
    return { far: Math.max(Math.abs(a - b), LEAST), middle: (a + b) / 2 };
  }

  /** Takes a move; tells `zoom` what two fingers were and are. Returns false where there are no two. */
  move(event: PointerEvent, zoom: (before: Span, after: Span) => void): boolean {
    if (event.pointerType !== "touch" || !this.fingers.has(event.pointerId)) return false;
    const before = this.fingers.size === 2 ? this.span() : null;
    this.fingers.set(event.pointerId, this.within(event));
    if (before) zoom(before, this.span());
    return before !== null;
  }
}
