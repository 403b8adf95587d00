/* Text on a canvas: names by their room, the method strong. */
import { fit } from "./names";

const SIZE = 12;

export class Pen {
  private readonly widths = [new Map<string, number>(), new Map<string, number>()];
  private readonly fonts: [regular: string, strong: string];

  /** `ratio` is how many pixels of the canvas, as it is drawn on, are one of the page. */
  constructor(
    private readonly context: CanvasRenderingContext2D,
    ratio = 1,
  ) {
    const { fontFamily } = getComputedStyle(document.body);
    this.fonts = [`${SIZE * ratio}px ${fontFamily}`, `600 ${SIZE * ratio}px ${fontFamily}`];
  }

  /** Pixels that a text takes, letter by letter: each letter is measured once. */
  width(text: string, isStrong: boolean): number {
    const known = this.widths[isStrong ? 1 : 0];
    let sum = 0;
    for (const letter of text) {
      let width = known.get(letter);
      if (width === undefined) {
        this.context.font = this.fonts[isStrong ? 1 : 0];
        width = this.context.measureText(letter).width;
        known.set(letter, width);
      }
      sum += width;
    }
    return sum;
  }

  write(text: string, isStrong: boolean, x: number, y: number, ink: string): void {
    const { context } = this;
    context.font = this.fonts[isStrong ? 1 : 0];
    context.textBaseline = "middle";
    context.fillStyle = ink;
    context.fillText(text, x, y + 0.5);
  }

  /** The end of a text, as much as there is room for. */
  tail(text: string, room: number): string {
    if (this.width(text, false) <= room) return text;
    const letters = [...text];
    let wide = this.width("…", false);
    let from = letters.length;
    while (from > 0 && wide + this.width(letters[from - 1], false) <= room) wide += this.width(letters[--from], false);
    return `…${letters.slice(from).join("")}`;
  }

  /** The start of a text, as much as there is room for. */
  head(text: string, room: number): string {
    if (this.width(text, false) <= room) return text;
    let wide = this.width("…", false);
    let shown = "";
    for (const letter of text) {
      wide += this.width(letter, false);
      if (wide > room) break;
      shown += letter;
    }
    return `${shown}…`;
  }

  /** Writes the form of a name that there is room for; returns how much it takes. */
  name(forms: readonly string[], x: number, y: number, room: number, ink: string): number {
    const method = forms[forms.length - 1];
    const parts = (text: string): [before: string, strong: string] =>
      text.endsWith(method) ? [text.slice(0, text.length - method.length), method] : ["", text];
    const measure = (text: string) => {
      const [before, strong] = parts(text);
      return this.width(before, false) + this.width(strong, true);
    };
    const [before, strong] = parts(fit(forms, room, measure));
    let start = 0;
    if (before) {
      this.write(before, false, x, y, ink);
      // To the point, so that the method follows: together letters can be narrower than one by one.
      start = this.context.measureText(before).width;
    }
    if (strong) this.write(strong, true, x + start, y, ink);
    return start + this.width(strong, true);
  }
}
