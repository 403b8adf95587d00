/* What a comparison begins with. */
import type { Capture } from "./api";

/** A moment in nanoseconds since 1970 as a date, with all its digits. */
const date = (ns: bigint): string =>
  new Date(Number(ns / 1_000_000n)).toISOString().replace("Z", `${String(ns % 1_000_000n).padStart(6, "0")}Z`);

/** What a comparison begins with: the stretch before the chosen one, or the capture before the chosen one. */
export function firstBase(
  stretch: { from: bigint; to: bigint } | null,
  capture: string,
  captures: readonly Pick<Capture, "id" | "service">[],
): Record<string, string> {
  if (stretch) {
    const { from, to } = stretch;
    const base = { base_from: date(from - (to - from)), base_to: date(from) };
    return { from: date(from), to: date(to), ...base };
  }
  const at = captures.findIndex((one) => one.id === capture);
  const before = captures.slice(0, Math.max(at, 0)).findLast((one) => one.service === captures[at].service);
  return before ? { base: before.id } : {};
}
