/* The kind of work of each item, as `hotspots/mod.rs` and flame graphs have it. */
import { OWN, unnamedKind } from "../shared/kinds";
import { type Columns, type Held, SPAN } from "./data";
import type { TiledItems } from "./tiles";

/** The kind of work of a name. */
export function kindOfName(data: Held, name: number): number {
  const kind = data.kinds_of_work[name];
  return kind >= 0 ? kind : unnamedKind(kind, data.colours[name]);
}

/** Kinds of work of items: a span without one has that of its nearest caller with one, unless it is own code. */
export function kindsOfWork(t: Columns, data: Held, source: TiledItems): Int16Array {
  const ofName = data.names.map((_, name) => kindOfName(data, name));
  const kinds = Int16Array.from(t.name, (name) => ofName[name]);
  inherit(kinds, t, data, source, 0);
  // Those of a tile have each other.
  if (kinds.length > source.size) inherit(kinds, t, data, source, source.size);
  return kinds;
}

/** Goes down the rows, of the page or of its tile: `of` is one of their items. */
function inherit(kinds: Int16Array, t: Columns, data: Held, source: TiledItems, of: number): void {
  const isBefore = (ah: number, al: number, bh: number, bl: number) => ah < bh || (ah === bh && al < bl);
  let above = [0, 0];
  data.kinds.forEach((kind, row) => {
    const items = source.range(row, of);
    if (kind === SPAN && data.levels[row] > 0) {
      let [caller, end] = above;
      for (let item = items[0]; item < items[1]; item++) {
        while (caller < end && isBefore(t.eh[caller], t.el[caller], t.eh[item], t.el[item])) caller++;
        if (caller === end) break;
        if (isBefore(t.sh[item], t.sl[item], t.sh[caller], t.sl[caller])) continue;
        if (kinds[item] < 0 && kinds[item] !== OWN && kinds[caller] >= 0) kinds[item] = kinds[caller];
      }
    }
    above = items;
  });
}
