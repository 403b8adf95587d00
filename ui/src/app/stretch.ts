/* The newest stretch of captures that lie far apart: what a timeline of all of them begins with. */
import type { Capture } from "./api";
import { isOffset } from "./clock";

const DAY = 864e11;

/** A stretch in nanoseconds since 1970, and what is not in it. */
export interface Stretch {
  from: number;
  to: number;
  /** Captures with times outside. */
  outside: number;
  /** The first moment of any. */
  first: number;
}

/** The last day of captures whose times go on for longer; none where one picture has room for all. */
export function newest(captures: readonly Capture[]): Stretch | undefined {
  const known = captures.flatMap(({ facts }) => {
    const { first_ns: from, last_ns: to } = facts ?? {};
    return typeof from === "number" && typeof to === "number" && !isOffset(from) ? [{ from, to }] : [];
  });
  const offsets = captures.filter(({ facts }) => typeof facts?.first_ns === "number" && isOffset(facts.first_ns));
  if (!known.length) return undefined;
  const first = Math.min(...known.map(({ from }) => from));
  const last = Math.max(...known.map(({ to }) => to));
  if (last - first <= DAY && !offsets.length) return undefined;
  const inside = known.filter(({ to }) => to >= last - DAY);
  const from = Math.max(Math.min(...inside.map((one) => one.from)), last - DAY);
  const outside = known.filter((one) => one.from < from).length + offsets.length;
  return outside ? { from, to: last, outside, first } : undefined;
}
