/* Moments of the Unix clock. JSON has their nanoseconds as numbers, of which a double keeps the microseconds. */
import { inZone } from "../shared/zone";
import { digitsOf } from "./api";
import { isOffset } from "./clock";
import { say } from "./language";

const ZONE = "traceloom.zone";

let isLocal = localStorage.getItem(ZONE) === "local";

/** Returns true if times are shown in the reader's zone. */
export const isLocalTime = (): boolean => isLocal;

/** Turns from UTC to the reader's zone and back; the browser remembers it. */
export function switchZone(): void {
  isLocal = !isLocal;
  localStorage.setItem(ZONE, isLocal ? "local" : "utc");
}

const utc = (ns: number): string => new Date(ns / 1e6).toISOString();

/** A distance from the start of a clock of unknown origin. */
const offset = (ns: number): string => `${ns < 0 ? "−" : "+"}${Math.abs(ns / 1e9).toFixed(3)} s`;

/** A moment with its zone, as `from` and `to` take it. */
export const iso = (ns: number): string => {
  if (isOffset(ns)) return offset(ns);
  return isLocal ? inZone(utc(ns)) : utc(ns);
};

/** A moment of a row to the nanosecond, in UTC and in the reader's zone; nothing where there is none. */
export function exact(row: object, name: string): string | undefined {
  const ns = (row as Record<string, number | null | undefined>)[name];
  if (ns === null || ns === undefined) return undefined;
  if (isOffset(ns)) return offset(ns);
  const digits = BigInt(digitsOf(row, name) ?? Math.round(ns));
  const second = BigInt(1e9);
  const fraction = ((digits % second) + second) % second;
  const seconds = new Date(Number((digits - fraction) / BigInt(1e6))).toISOString().slice(0, 19);
  const text = `${seconds}.${String(fraction).padStart(9, "0")}Z`;
  const local = inZone(text);
  return local.endsWith("+00:00") ? text : `${text}\n${local}`;
}

/** Time of day where it is of the same day as `day`, else date and time. */
export function moment(ns: number | null | undefined, day?: number): string {
  if (ns === null || ns === undefined) return "–";
  const text = iso(ns);
  if (isOffset(ns)) return text;
  const isSameDay = day !== undefined && iso(day).slice(0, 10) === text.slice(0, 10);
  return isSameDay ? text.slice(11, 23) : `${text.slice(0, 10)} ${text.slice(11, 23)}`;
}

/** How long ago, up to an hour; the moment beyond. */
export function ago(ns: number | null, now: number): string {
  if (ns === null) return "–";
  const minutes = Math.floor((now - ns / 1e6) / 60_000);
  if (minutes < 1) return say("ago.now");
  return minutes < 60 ? say("ago.minutes", { minutes }) : moment(ns);
}

const UNITS: Record<string, number> = { s: 1e3, min: 6e4, h: 36e5, d: 864e5 };

/** The milliseconds that `-2h` goes back; nothing for what is no such text. */
export function back(text: string): number | undefined {
  const [, number, unit] = /^-(\d+)(s|min|h|d)$/.exec(text.trim()) ?? [];
  return unit ? Number(number) * UNITS[unit]! : undefined;
}

/** The end of the minute: what `-2h` is counted from, the same for every question of a minute. */
const now = (): number => Math.ceil(Date.now() / 6e4) * 6e4;

/** A bound of the range as the API takes it; what is counted back from now becomes a moment. */
export function bound(text: string): string {
  const distance = back(text);
  return distance === undefined ? text : new Date(now() - distance).toISOString();
}

/** A bound in nanoseconds, where it is a moment. */
export function boundNs(text: string): number | undefined {
  const ms = Date.parse(bound(text));
  return Number.isNaN(ms) ? undefined : ms * 1e6;
}

/** The range as the bar says it. */
export function rangeText(from: string, to: string): string {
  const one = (text: string, none: string) => {
    if (!text) return none;
    const ns = boundNs(text);
    return back(text) !== undefined || ns === undefined ? text : moment(ns);
  };
  if (!from && !to) return say("all");
  if (back(from) !== undefined && !to) return say("range.last", { range: from.trim().slice(1) });
  return `${one(from, say("range.first"))} – ${one(to, say("range.end"))}`;
}
