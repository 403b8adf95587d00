/* A map of captures: columns of time, a row an instance. */
import type { Capture } from "./api";
import { say } from "./language";

/** Columns of time, and rows of instances. */
export const COLUMNS = 120;
export const INSTANCES = 30;

/** The row that a capture stands in. */
export const instanceOf = (capture: Capture): string => capture.instance || capture.service || say("unnamed");

/** How many profiles one cell has: steps from 1 to 6 at 1, 2, 4, 10, 32 and 100. */
export const heat = (count: number): number => [1, 2, 4, 10, 32, 100].filter((from) => count >= from).length;

/** The profiles of each cell, by column and row; the last row has the instances that have no room of their own. */
export function cells(captures: readonly Capture[]): Map<string, Capture[]> {
  const times = captures.map((capture) => capture.opened_ns ?? 0);
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const length = times.reduce((a, b) => Math.max(a, b), 0) - first || 1;
  const rows = [...new Set(captures.map(instanceOf))];
  const found = new Map<string, Capture[]>();
  captures.forEach((capture, at) => {
    const column = Math.floor(((times[at] - first) * (COLUMNS - 1)) / length);
    const key = `${column} ${Math.min(rows.indexOf(instanceOf(capture)), INSTANCES - 1)}`;
    found.set(key, [...(found.get(key) ?? []), capture]);
  });
  return found;
}
