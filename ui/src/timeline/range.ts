/* What ran from one moment to another: the functions of a range, with what they took in it. */
import { exact, FOLDED, halves, SPAN } from "./data";
import type { Track } from "./layout";
import type { TimelineModel } from "./model";

/** What a function took in a range; calls that began before it or end after it count as far as they are in it. */
export interface Ran {
  name: number;
  own: number;
  total: number;
  calls: number;
}

/** What ran in a range. */
export interface RanIn {
  /** Functions of the spans that are held one by one: by own time, or by total where others are held together. */
  functions: Ran[];
  /** Spans that are held together: what is around them took less by itself than is known here. */
  together: number;
}

/** A span in a range, and the one around it. */
interface Inside {
  name: number;
  around: Inside | null;
  from: bigint;
  to: bigint;
}

/** What ran in a range. */
export function ranIn(model: TimelineModel, from: bigint, to: bigint): RanIn {
  const sums = new Map<number, Ran>();
  const of = (name: number) => {
    let sum = sums.get(name);
    if (!sum) {
      sum = { name, own: 0, total: 0, calls: 0 };
      sums.set(name, sum);
    }
    return sum;
  };
  let together = 0;
  for (const track of model.tracks) together += ranOn(model, track, from, to, of);
  const functions = [...sums.values()].filter((ran) => ran.total > 0 || ran.calls > 0);
  functions.sort((a, b) => (together ? 0 : b.own - a.own) || b.total - a.total);
  return { functions, together };
}

/** Adds what ran on a track; returns how many spans of it are held together. */
function ranOn(model: TimelineModel, track: Track, from: bigint, to: bigint, of: (name: number) => Ran): number {
  const { t, data, source } = model;
  let together = 0;
  let above: Inside[] = [];
  for (let row = track.first; row < track.first + track.rows; row++) {
    if (data.kinds[row] !== SPAN) continue;
    if (data.levels[row] === 0) above = [];
    const items = source.items(row, halves(from), halves(to), 0);
    const here: Inside[] = [];
    let caller = 0;
    for (let at = 0; at < items.size; at++) {
      const item = items.first(at);
      if (t.flags[item] & FOLDED) {
        together += t.folded.get(item) ?? 0;
        continue;
      }
      const [start, end] = [exact(t.sh[item], t.sl[item]), exact(t.eh[item], t.el[item])];
      const inside = { from: start > from ? start : from, to: end < to ? end : to };
      if (inside.to < inside.from) continue;
      while (caller < above.length && above[caller].to < inside.to) caller++;
      const around = above[caller]?.from <= inside.from ? above[caller] : null;
      const took = Number(inside.to - inside.from);
      if (around) of(around.name).own -= took;
      const sum = of(t.name[item]);
      sum.own += took;
      if (start >= from) sum.calls++;
      // Of what calls itself, the outermost call counts.
      let outer = around;
      while (outer && outer.name !== t.name[item]) outer = outer.around;
      if (!outer) sum.total += took;
      here.push({ name: t.name[item], around, ...inside });
    }
    above = here;
  }
  return together;
}
