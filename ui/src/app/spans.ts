/* What a call's spans come to. */
import { kindName, kindToken, OWN } from "../shared/kinds";
import { parts } from "../shared/names";
import type { Span } from "./api";
import { known } from "./language";

/** The word for the kind of a span's work; empty where neither a rule nor the program's packages claim it. */
export const kindOf = (span: Pick<Span, "category" | "own_code">): string =>
  span.category ?? (span.own_code ? "own" : "");

/** What people call a kind. */
export function kindTitle(kind: string): string {
  const name = kind === "own" ? kindName(OWN, []) : kindName(0, [kind]);
  return known(`kind.${kind || "none"}`) ?? name;
}

/** A number that a class keeps, so that neighbours of own code part. */
function shadeOf(name: string): number {
  let hash = 0;
  for (const letter of parts(name).owner) hash = (hash * 31 + letter.charCodeAt(0)) % 9973;
  return hash;
}

/** The token of a kind's colour. */
export function kindColour(kind: string, name = ""): string {
  if (kind === "own") return kindToken(OWN, [], name ? shadeOf(name) : 0);
  return kind ? kindToken(0, [kind]) : "k-lib";
}

/** Own time by a key, the most first. */
export function ownTimes(
  spans: readonly Span[],
  keyOf: (span: Span) => string,
): { key: string; ns: number; times: number; kind: string }[] {
  const sums = new Map<string, { key: string; ns: number; times: number; kind: string }>();
  for (const span of spans) {
    const key = keyOf(span);
    const sum = sums.get(key) ?? { key, ns: 0, times: 0, kind: kindOf(span) };
    sum.ns += span.self_ns;
    sum.times += 1;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((a, b) => b.ns - a.ns);
}

/** Own time in databases. */
export const databaseTime = (spans: readonly Span[]): number =>
  spans.filter(({ category }) => category === "db").reduce((sum, span) => sum + span.self_ns, 0);

/** An exception, with the lines of its stack. */
export interface Thrown {
  class: string;
  message: string;
  stack: string[];
}

/** Reads what Java prints of an exception: itself, then what caused it. */
function printed(text: string): Thrown[] {
  return text.split(/\nCaused by: /).map((one) => {
    const [head = "", ...stack] = one.split("\n").map((line) => line.trim());
    const colon = head.indexOf(": ");
    return {
      class: colon < 0 ? head : head.slice(0, colon),
      message: colon < 0 ? "" : head.slice(colon + 2),
      stack: stack.filter(Boolean),
    };
  });
}

/** The exception that a span ended with, then its causes: as it was recorded, else out of the text that names it. */
export function exceptionsOf(span: Span): Thrown[] {
  const place = (file: string | null, line: number | null) => (file ? `(${file}${line ? `:${line}` : ""})` : "");
  const recorded = (span.exceptions ?? []).map((one) => ({
    class: one.class,
    message: one.message ?? "",
    stack: one.stack.map(({ function: name, file, line }) => `at ${name}${place(file, line)}`),
  }));
  if (recorded.length) return recorded;
  const texts = span.attributes.filter(({ name, from }) => name === "exception" && !from);
  return texts.flatMap(({ value }) => (typeof value === "string" ? printed(value) : []));
}
