/* What a comparison begins with. */
import type { Capture, Service } from "./api";
import { isOffset } from "./clock";
import { isOfServices } from "./services";

/** A moment in nanoseconds since 1970 as a date, with all its digits. */
const date = (ns: bigint): string =>
  new Date(Number(ns / 1_000_000n)).toISOString().replace("Z", `${String(ns % 1_000_000n).padStart(6, "0")}Z`);

/** The versions of the chosen services, from the oldest to the newest. */
export function versionsOf(
  services: readonly Pick<Service, "namespace" | "service" | "versions">[],
  chosen: readonly string[],
): string[] {
  const some = services.filter((one) => isOfServices(chosen, one));
  return [...new Set(some.flatMap(({ versions }) => versions))];
}

/** Returns true if a capture has something between two moments: by what decoding it showed, before that by when it was received. */
export function lies(
  { facts, opened_ns, closed_ns }: Pick<Capture, "facts" | "opened_ns" | "closed_ns">,
  from: number | undefined,
  to: number | undefined,
): boolean {
  if (from === undefined && to === undefined) return true;
  const [first, last] = facts?.decoded
    ? [facts.first_ns ?? undefined, facts.last_ns ?? undefined]
    : [opened_ns ?? 0, closed_ns ?? Number.POSITIVE_INFINITY];
  if (first === undefined || last === undefined || isOffset(last)) return false;
  return (from === undefined || last >= from) && (to === undefined || first < to);
}

/** What a comparison begins with: the stretch before the chosen one, the capture before the chosen one, or the last two versions. */
export function firstBase(
  stretch: { from: bigint; to: bigint } | null,
  capture: string,
  captures: readonly Pick<Capture, "id" | "namespace" | "service">[],
  versions: readonly string[] = [],
): Record<string, string> {
  if (stretch) {
    const { from, to } = stretch;
    const base = { base_from: date(from - (to - from)), base_to: date(from) };
    return { from: date(from), to: date(to), ...base };
  }
  const at = captures.findIndex((one) => one.id === capture);
  const isOfSame = (one: { namespace: string; service: string }) =>
    one.service === captures[at].service && one.namespace === captures[at].namespace;
  const before = captures.slice(0, Math.max(at, 0)).findLast(isOfSame);
  if (before) return { base: before.id };
  const [older, newer] = versions.slice(-2);
  return capture || newer === undefined ? {} : { base_version: older!, version: newer };
}
