/* The lines of a timeline below each other: tracks in their order, folded, pinned or idle, and counters. No element and no canvas. */
import { amount, grouped } from "../shared/amount";
import { type Columns, type Counter, type Held, type HeldTrack, SAMPLE, SPAN } from "./data";
import { counterValue } from "./words";

export interface Track extends HeldTrack {
  key: string;
  number: number;
  /** Its first row. */
  first: number;
}

/** A line of the picture: a track with its rows, a counter, or the title of a recording. */
export interface Line {
  key: string;
  source: number;
  level: number;
  name: string;
  note: string;
  /** How long something ran on it. */
  busy: string;
  rows: { row: number; top: number; height: number }[];
  top: number;
  height: number;
  folds: boolean;
  folded: boolean;
  track?: Track;
  counter?: Counter;
}

/** What tracks stand by. */
export const ORDERS = ["activity", "name", "recording"] as const;
export type TrackOrder = (typeof ORDERS)[number];

/** Tracks that are drawn in full at first. */
const OPEN = 3;
/** Pixels from which on a window has room for one more. */
const WIDE = 1600;
/** Tracks from which on idle ones share a line, and the part of the busiest track's time under which one is idle. */
const MANY = 12;
const IDLE = 1 / 200;
/** Pixels of a level of the others. */
const DENSE = 4;
/** Numbers in names count as numbers: `exec-2` stands before `exec-10`. */
const byName = new Intl.Collator("en", { numeric: true });
const HEIGHTS: Record<number, number> = { [SPAN]: 17, [SAMPLE]: 11 };

/** Which lines there are, in which order, how high, and what is folded or pinned. */
export class TrackLayout {
  lines: Line[] = [];
  pinnedLines: Line[] = [];
  pinnedHeight = 0;
  pinned: string[] = [];
  folded = new Set<string>();
  /** What was folded at first. */
  private foldedFirst: readonly string[] = [];
  order: TrackOrder = "activity";
  /** Recordings whose idle tracks are shown. */
  private readonly idle = new Set<number>();

  constructor(
    private readonly data: Held,
    private readonly t: Columns,
    private readonly tracks: readonly Track[],
  ) {}

  private lineOf(track: Track): Line {
    const { data, t } = this;
    const folded = this.folded.has(track.key);
    const rows: Line["rows"] = [];
    let top = 2;
    let folds = t.counters.some((one) => one.track === track.number);
    for (let row = track.first; row < track.first + track.rows; row++) {
      folds = true;
      const height = folded ? DENSE : (HEIGHTS[data.kinds[row]] ?? 9);
      // A little room before each lane.
      if (!folded && data.kinds[row] === SPAN && data.lanes[row] && data.levels[row] === 0) top += 3;
      rows.push({ row, top, height });
      top += height;
    }
    const isProcess = track.kind === "process";
    folds ||= isProcess && t.counters.some((one) => one.source === track.source && one.track === null);
    return {
      key: track.key,
      source: track.source,
      level: track.level,
      name: isProcess ? `${track.name} (process)` : track.name,
      note: noteOf(track),
      busy: track.spans ? amount("ns", Number(track.busy)) : "",
      rows,
      folds,
      folded,
      top: 0,
      height: Math.max(top + 2, 21),
      track,
    };
  }

  private lineOfCounter(counter: Counter): Line {
    const { count, least, most } = counter;
    return {
      key: counter.key,
      source: counter.source,
      level: counter.track === null ? 0 : 1,
      name: counter.name,
      note: count ? `${counterValue(counter, least)} to ${counterValue(counter, most)}` : "no points",
      busy: "",
      rows: [],
      folds: false,
      folded: false,
      top: 0,
      height: counter.track === null ? 34 : 22,
      counter,
    };
  }

  /** Tracks of a recording in their order, each with those below it; the process stays on top. */
  private ordered(source: number): Track[] {
    const tracks = this.tracks.filter((track) => track.source === source);
    const groups: Track[][] = [];
    for (const track of tracks) {
      const isBelow = groups.length > 0 && track.level > groups[groups.length - 1][0].level;
      if (isBelow && groups[groups.length - 1][0].kind !== "process") groups[groups.length - 1].push(track);
      else groups.push([track]);
    }
    const busy = (group: Track[]) => group.reduce((sum, track) => sum + Number(track.busy) + track.samples, 0);
    const isProcess = (group: Track[]) => (group[0].kind === "process" ? 1 : 0);
    const { order } = this;
    const first = (a: Track[], b: Track[]) => {
      if (order === "recording") return 0;
      return order === "name" ? byName.compare(a[0].name, b[0].name) : busy(b) - busy(a);
    };
    return groups.sort((a, b) => isProcess(b) - isProcess(a) || first(a, b)).flat();
  }

  /** Parts the tracks of a recording from those that did next to nothing, where there are many. */
  private parted(source: number): { busy: Track[]; idle: Track[] } {
    const tracks = this.ordered(source);
    const work = (track: Track) => Number(track.busy) + track.samples;
    const least = tracks.reduce((most, track) => Math.max(most, work(track)), 0) * IDLE;
    const isIdle = (track: Track, at: number) => {
      const isParent = (tracks[at + 1]?.level ?? 0) > track.level && track.kind !== "process";
      return track.kind !== "process" && track.level < 2 && !isParent && work(track) < least && !track.failed;
    };
    const idle = tracks.filter(isIdle);
    if (tracks.length <= MANY || idle.length < 2) return { busy: tracks, idle: [] };
    const isLeft = new Set(idle);
    return { busy: tracks.filter((track) => !isLeft.has(track)), idle };
  }

  /** Shows or hides the idle tracks of a recording, by the key of their line; returns false for other keys. */
  private toggleIdle(key: string): boolean {
    const [, source] = /^idle(\d+)$/.exec(key) ?? [];
    if (source === undefined) return false;
    if (!this.idle.delete(Number(source))) this.idle.add(Number(source));
    return true;
  }

  /** Folds or opens a line, by its key. */
  toggle(key: string): void {
    if (!this.toggleIdle(key) && !this.folded.delete(key)) this.folded.add(key);
  }

  /** Shows the idle tracks that a track is among; returns true where it was not shown. */
  openIdle(track: Track): boolean {
    if (this.idle.has(track.source) || !this.parted(track.source).idle.includes(track)) return false;
    this.idle.add(track.source);
    return true;
  }

  /** Folds all tracks but the busiest, where they are more than a window of this size shows. */
  foldMost(wide: number, high: number): void {
    this.arrange(high);
    const height = this.lines.reduce((sum, line) => sum + line.height, 0);
    if (height <= high * 1.5) return;
    const threads = this.lines.filter((line) => line.track && line.track.kind !== "process");
    for (const line of threads.slice(wide >= WIDE ? OPEN + 1 : OPEN)) this.folded.add(line.key);
    this.foldedFirst = [...this.folded];
  }

  /** Keys of the tracks that are folded or open otherwise than at first, and recordings whose idle tracks are shown. */
  get turned(): string[] {
    const first = new Set(this.foldedFirst);
    const changed = [...this.folded].filter((key) => !first.has(key));
    const opened = this.foldedFirst.filter((key) => !this.folded.has(key));
    return [...changed, ...opened, ...Array.from(this.idle, (source) => `idle${source}`)];
  }

  set turned(keys: readonly string[]) {
    this.folded = new Set(this.foldedFirst);
    this.idle.clear();
    for (const key of keys) this.toggle(key);
  }

  /** Returns true if a recording has a track or a counter; of others no line is drawn, and a sentence says how many there are. */
  isShown(source: number): boolean {
    const isOf = (one: { source: number }) => one.source === source;
    return this.tracks.some(isOf) || this.t.counters.some(isOf);
  }

  /** Puts the lines below each other, in a window so many pixels high; returns how high they are. */
  arrange(high: number): number {
    const all: Line[] = [];
    this.data.sources.forEach((source, number) => {
      if (!this.isShown(number)) return;
      const counters = (track: number | null) =>
        this.t.counters
          .filter((one) => one.source === number && one.track === track)
          .map((one) => this.lineOfCounter(one));
      const { busy: tracks, idle } = this.parted(number);
      const hasProcess = tracks[0]?.kind === "process";
      if (this.data.sources.length > 1 && !hasProcess) all.push(titleOf(number, source.title));
      if (!hasProcess) all.push(...counters(null));
      tracks.forEach((track, place) => {
        all.push(this.lineOf(track));
        if (hasProcess && place === 0) all.push(...counters(null));
        all.push(...counters(track.number));
      });
      if (!idle.length) return;
      const isShown = this.idle.has(number);
      all.push({
        ...titleOf(number, `${idle.length} idle tracks`),
        key: `idle${number}`,
        folds: true,
        folded: !isShown,
      });
      if (isShown) for (const track of idle) all.push(this.lineOf(track), ...counters(track.number));
    });
    const pinned = this.pinned.map((key) => all.find((line) => line.key === key)).filter((line) => line !== undefined);
    this.pinnedLines = pinned.map((line) => ({ ...line }));
    this.lines = all;
    this.pinnedHeight = Math.min(stack(this.pinnedLines), Math.max(60, high / 2));
    return stack(all);
  }
}

/** What a track holds, and whose it is. */
function noteOf(track: Track): string {
  const counts: [number, string][] = [
    [track.spans, "spans"],
    [track.samples, "samples"],
    [track.waits, "waits"],
    [track.events, "events"],
  ];
  const held = counts.filter(([count]) => count > 0).map(([count, word]) => `${grouped(count)} ${word}`);
  if (track.process && !track.name.includes(track.process)) held.push(track.process);
  return held.join(" · ");
}

function titleOf(source: number, name: string): Line {
  return {
    key: "",
    source,
    level: 0,
    name,
    note: "",
    busy: "",
    rows: [],
    folds: false,
    folded: false,
    top: 0,
    height: 22,
  };
}

function stack(lines: Line[]): number {
  return lines.reduce((top, line) => {
    line.top = top;
    return top + line.height;
  }, 0);
}
