/* What ran from one moment to another: the functions of a range, with what they took in it. */
import { exact, FOLDED, halves, SPAN } from "./data";
import type { Track } from "./layout";
import type { TimelineModel } from "./model";

/** Stands for the spans that the page does not hold one by one. */
export const SHORT = -1;

/** What a function took in a range; calls that began before it or end after it count as far as they are in it. */
export interface Ran {
  name: number;
  own: number;
  total: number;
  calls: number;
}

/** A span in a range, and the one around it. */
interface Inside {
  name: number;
  around: Inside | null;
  from: bigint;
  to: bigint;
}

/** The functions of a range, the largest own time first. */
export function ranIn(model: TimelineModel, from: bigint, to: bigint): Ran[] {
  const sums = new Map<number, Ran>();
  const of = (name: number) => {
    let sum = sums.get(name);
    if (!sum) {
      sum = { name, own: 0, total: 0, calls: 0 };
      sums.set(name, sum);
    }
    return sum;
  };
  for (const track of model.tracks) ranOn(model, track, from, to, of);
  return [...sums.values()]
    .filter((ran) => ran.total > 0 || ran.calls > 0)
    .sort((a, b) => b.own - a.own || b.total - a.total);
}

function ranOn(model: TimelineModel, track: Track, from: bigint, to: bigint, of: (name: number) => Ran): void {
  const { t, data, source } = model;
  let above: Inside[] = [];
  for (let row = track.first; row < track.first + track.rows; row++) {
    if (data.kinds[row] !== SPAN) continue;
    if (data.levels[row] === 0) above = [];
    const items = source.items(row, halves(from), halves(to), 0);
    const here: Inside[] = [];
    let caller = 0;
    for (let at = 0; at < items.size; at++) {
      const item = items.first(at);
      const [start, end] = [exact(t.sh[item], t.sl[item]), exact(t.eh[item], t.el[item])];
      const inside = { from: start > from ? start : from, to: end < to ? end : to };
      if (inside.to < inside.from) continue;
      while (caller < above.length && above[caller].to < inside.to) caller++;
      const around = above[caller]?.from <= inside.from ? above[caller] : null;
      const took = Number(inside.to - inside.from);
      if (around) of(around.name).own -= took;
      const isFolded = t.flags[item] & FOLDED;
      const sum = of(isFolded ? SHORT : t.name[item]);
      sum.own += took;
      if (isFolded) {
        sum.total += took;
        continue;
      }
      if (start >= from) sum.calls++;
      // Of what calls itself, the outermost call counts.
      let outer = around;
      while (outer && outer.name !== t.name[item]) outer = outer.around;
      if (!outer) sum.total += took;
      here.push({ name: t.name[item], around, ...inside });
    }
    above = here;
  }
}
