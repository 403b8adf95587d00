/* When calls of a service began, in a cell. */
import type { JSX } from "preact";
import type { Overview } from "./api";
import { say } from "./language";

const BARS = 32;
const HEIGHT = 18;

/** Calls of each of equal stretches of time. */
export function stretches(overview: Overview, bars: number): number[] {
  const sums = new Array<number>(bars).fill(0);
  const first = overview.first_ns ?? 0;
  const range = Math.max((overview.last_ns ?? first) - first, 1);
  for (const [start, , calls] of overview.cells) {
    const at = Math.min(Math.max(Math.floor(((start + overview.step_ns / 2 - first) / range) * bars), 0), bars - 1);
    sums[at] = (sums[at] ?? 0) + calls;
  }
  return sums;
}

/** The picture. */
export function Spark({ overview }: { overview: Overview }): JSX.Element {
  const sums = stretches(overview, BARS);
  const most = Math.max(...sums);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${BARS} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={say("spark", { calls: overview.calls })}
    >
      {sums.map((calls, at) => {
        const height = calls ? Math.max((calls / most) * HEIGHT, 2) : 1;
        return <rect key={at} x={at} y={HEIGHT - height} width="0.7" height={height} class={calls ? "some" : ""} />;
      })}
    </svg>
  );
}
