/* The tracks as a table, and the spans of the window on one of them. */
import { grouped } from "../shared/amount";
import { button, named, nameOf } from "../shared/dom";
import { FOLDED, type HeldTrack, SPAN } from "./data";
import type { Track } from "./layout";
import type { TimelineModel } from "./model";
import type { RanIn } from "./range";
import { amount, type Words } from "./words";

const ROWS = 500;

/** What stands in a cell: a text or element, and its exact nanoseconds. */
type Cell = string | number | Node | readonly [what: string, ns: string | bigint];

type Heading = readonly [name: string, kind?: string];

/** What rows do. */
export interface Actions {
  choose(track: Track): void;
  select(item: number): void;
  pin(key: string): void;
}

const what = (cell: Cell) => (Array.isArray(cell) ? (cell[0] as string) : (cell as string | number | Node));

/** A table of rows of cells. Columns with nothing in them stay out. */
function table(heads: readonly Heading[], rows: Cell[][]): HTMLTableElement {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  const lines = rows.map(() => body.insertRow());
  heads.forEach(([name, kind = ""], at) => {
    if (rows.length && rows.every((row) => what(row[at]) === "")) return;
    const cell = named("th", name, kind);
    cell.scope = "col";
    head.append(cell);
    rows.forEach((row, place) => {
      const cell = lines[place].insertCell();
      const value = what(row[at]);
      cell.append(typeof value === "number" ? String(value) : value);
      cell.dataset.of = name;
      if (Array.isArray(row[at])) cell.dataset.ns = String(row[at][1]);
      if (kind) cell.className = kind;
    });
  });
  return table;
}

/** Items of the window on a track with their rows, how many there are, and how many more are drawn together. */
export function inside(
  model: TimelineModel,
  track: Track,
): { found: [item: number, row: number][]; count: number; together: number } {
  const { data, view, source, t } = model;
  const found: [number, number][] = [];
  let [count, together] = [0, 0];
  for (let row = track.first; row < track.first + track.rows; row++) {
    if (data.kinds[row] !== SPAN) continue;
    const items = source.items(row, view, { h: view.h, l: view.l + view.span }, 0);
    for (let at = 0; at < items.size; at++) {
      const item = items.first(at);
      if (t.flags[item] & FOLDED) together += t.folded.get(item) ?? 0;
      else count++;
      if (found.length < ROWS) found.push([item, row]);
    }
  }
  return { found, count, together };
}

/** Functions of a range at once. */
const RAN = 20;

/** What ran in a range, as a table; a press searches for a function. Self times are told where they are known. */
export function ranTable(
  model: TimelineModel,
  { functions, together }: RanIn,
  find: (name: string) => void,
): HTMLElement {
  const rows = functions.slice(0, RAN).map(({ name, own, total, calls }): Cell[] => {
    const full = model.data.names[name];
    const press = button("", () => find(full));
    press.append(...nameOf(full));
    press.title = full;
    const time = (ns: number): Cell => [amount(BigInt(ns)), String(ns)];
    return [...(together ? [] : [time(own)]), time(total), calls ? grouped(calls) : "", press];
  });
  const part = named("div", "", "ran");
  const self: Heading[] = together ? [] : [["self"]];
  if (rows.length) part.append(table([...self, ["total"], ["calls"], ["function", "name"]], rows));
  const line = (words: string) => part.append(named("p", words, "dim"));
  if (functions.length > RAN) line(`${grouped(functions.length - RAN)} more functions`);
  if (together) {
    const spans = together === 1 ? "1 span is" : `${grouped(together)} spans are`;
    line(
      `${spans} drawn together here and not in these numbers; self times are known where every span is drawn by itself`,
    );
  }
  return part;
}

const TIMES = ["busy", "longest", "waited", "paused"] as const;
type Time = (typeof TIMES)[number];
type Count = { [K in keyof HeldTrack]: HeldTrack[K] extends number ? K : never }[keyof HeldTrack];
const HEADS: readonly (Count | Time | "share")[] = [
  "spans",
  "busy",
  "share",
  "longest",
  "waits",
  "waited",
  "pauses",
  "paused",
  "events",
  "samples",
  "partial",
  "failed",
  "losses",
];

/** Shows the tracks with their totals, and the spans of the window on the chosen one. */
export function showTracks(into: HTMLElement, model: TimelineModel, words: Words, actions: Actions): void {
  const { data } = model;
  const cellOf = (track: Track, head: (typeof HEADS)[number]): Cell => {
    if (head === "share") {
      if (!model.length || !track.spans) return "";
      return `${((Number(track.busy) * 100) / Number(model.length)).toFixed(2)} %`;
    }
    const isTime = TIMES.find((time) => time === head);
    if (isTime) return track[isTime] !== "0" ? [amount(BigInt(track[isTime])), track[isTime]] : ["", track[isTime]];
    const count = track[head as Count];
    return count ? grouped(count) : "";
  };
  const rows = model.tracks.slice(0, ROWS).map((track): Cell[] => {
    const name = button(track.name, () => actions.choose(track));
    name.style.marginLeft = `${12 * Math.min(track.level, 8)}px`;
    const recording = data.sources.length > 1 ? data.sources[track.source].title : "";
    const pin = button("pin", () => actions.pin(track.key), model.layout.pinned.includes(track.key));
    return [name, recording, track.process, track.kind, ...HEADS.map((head) => cellOf(track, head)), pin];
  });
  const words_ = ["recording", "process", "kind"].map((head) => [head, "word"] as const);
  const all = table([["track", "name"], ...words_, ...HEADS.map((head) => [head] as const), ["pin"]], rows);
  const first = model.tracks.length > ROWS ? `, the first ${ROWS} of ${grouped(model.tracks.length)}` : "";
  // Alone in a page it is below its title, in a report below that of a section.
  const heading = document.body.classList.contains("whole") ? "h2" : "h3";
  const parts: Node[] = [named(heading, `Tracks${first}`), all];
  const chosen = model.tracks.find((track) => track.key === model.track);
  if (chosen) {
    const { found, count, together } = inside(model, chosen);
    const spans = found.map(([item, row]): Cell[] => {
      const self = words.own(item);
      const start = model.startOf(item);
      const length = model.lengthOf(item);
      return [
        [words.clock(start, 1n), start],
        words.isTogether(item) ? "" : [amount(length), length],
        self === null ? "" : [amount(self), self],
        data.levels[row],
        button(words.full(item), () => actions.select(item)),
      ];
    });
    const list = table([["start"], ["duration"], ["self"], ["level"], ["span", "name"]], spans);
    const more = together ? ` and ${grouped(together)} drawn together` : "";
    const shown = found.length === ROWS ? `, the first ${ROWS} lines shown` : "";
    parts.push(named(heading, `${chosen.name}: ${grouped(count)} spans in the window${more}${shown}`), list);
  }
  into.replaceChildren(...parts);
}
