/* What a comparison begins with. */
import type { Capture, Service } from "./api";

/** A moment in nanoseconds since 1970 as a date, with all its digits. */
const date = (ns: bigint): string =>
  new Date(Number(ns / 1_000_000n)).toISOString().replace("Z", `${String(ns % 1_000_000n).padStart(6, "0")}Z`);

/** The versions of the chosen services, from the oldest to the newest. */
export function versionsOf(
  services: readonly Pick<Service, "service" | "versions">[],
  chosen: readonly string[],
): string[] {
  const some = services.filter(({ service }) => !chosen.length || chosen.includes(service));
  return [...new Set(some.flatMap(({ versions }) => versions))];
}

/** What a comparison begins with: the stretch before the chosen one, the capture before the chosen one, or the last two versions. */
export function firstBase(
  stretch: { from: bigint; to: bigint } | null,
  capture: string,
  captures: readonly Pick<Capture, "id" | "service">[],
  versions: readonly string[] = [],
): Record<string, string> {
  if (stretch) {
    const { from, to } = stretch;
    const base = { base_from: date(from - (to - from)), base_to: date(from) };
    return { from: date(from), to: date(to), ...base };
  }
  const at = captures.findIndex((one) => one.id === capture);
  const before = captures.slice(0, Math.max(at, 0)).findLast((one) => one.service === captures[at].service);
  if (before) return { base: before.id };
  const [older, newer] = versions.slice(-2);
  return capture || newer === undefined ? {} : { base_version: older!, version: newer };
}
