/* A timeline on paper: all of its tracks, as far as a canvas goes. */
import { counted } from "../shared/amount";
import type { TimelineModel } from "./model";

/** Pixels that a canvas may be high; on paper each is two of its own, of which browsers allow 16,384. */
export const MOST = 8_000;

/** How high the tracks are drawn that take `all` pixels with the `head` above them, and how many have no room. */
export function sheet(lines: readonly { top: number; height: number }[], all: number, head: number): [number, number] {
  const high = Math.min(all, MOST);
  const beyond = high < all ? lines.filter((line) => head + line.top + line.height > high).length : 0;
  return [high, beyond];
}

/** Returns the height of the drawing on paper, and says below it what has no room. */
export function onPaper(part: Element, model: TimelineModel, all: number, head: number): number {
  const [high, beyond] = sheet(model.layout.lines, all, head);
  const said = part.querySelector(".beyond");
  if (said) said.textContent = beyond ? `${counted(beyond, "track")} more: zoom, or fold tracks, to print them.` : "";
  return high;
}
