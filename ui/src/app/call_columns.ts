/* Columns of the list of calls. */
import { amount, grouped } from "../shared/amount";
import { parts } from "../shared/names";
import type { Call } from "./api";
import { known } from "./language";
import { exact, moment } from "./times";

/** A column. */
export interface Column {
  /** What the API calls it. */
  name: string;
  head: string;
  width: number;
  isNumber: boolean;
  text: (call: Call, day: number | undefined) => string;
  /** The whole value, where the cell has less of it. */
  title?: (call: Call) => string | undefined;
}

const time = (ns: unknown): string => {
  if (typeof ns !== "number") return "–";
  return ns ? amount("ns", ns) : "0";
};
const number = (value: unknown): string => (typeof value === "number" ? grouped(value) : "–");
const plain = (value: unknown): string => (value === null || value === undefined || value === "" ? "–" : String(value));

/** What a call did: its title, else its method. */
export const titleOf = (call: Call): string => call.title || parts(call.method ?? "").method || "–";

/** A value as a text. */
export const valueText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const of = (call: Call, name: string): unknown => (call as unknown as Record<string, unknown>)[name];

const headOf = (name: string): string => known(`call.${name}`) ?? name;

const timed = (name: string, width = 84): Column => ({
  name,
  head: headOf(name),
  width,
  isNumber: true,
  text: (call) => time(of(call, name)),
});
const counted = (name: string): Column => ({
  name,
  head: headOf(name),
  width: 72,
  isNumber: true,
  text: (call) => number(of(call, name)),
});
const texts = (name: string, width: number): Column => ({
  name,
  head: headOf(name),
  width,
  isNumber: false,
  text: (call) => plain(of(call, name)),
  title: (call) => plain(of(call, name)),
});

/** The program's own columns, in the language that is chosen. */
const own = (): readonly Column[] => [
  {
    name: "start",
    head: headOf("start"),
    width: 112,
    isNumber: false,
    text: (call, day) => moment(call.start, day),
    title: (call) => exact(call, "start"),
  },
  { ...timed("duration", 168), title: (call) => `${grouped(call.duration)} ns` },
  timed("cpu"),
  timed("suspended", 88),
  timed("queue", 72),
  counted("calls"),
  counted("transactions"),
  texts("service", 120),
  texts("instance", 150),
  texts("host", 110),
  texts("thread", 150),
  { ...texts("title", 0), text: titleOf, title: (call) => call.title ?? call.method ?? undefined },
  texts("method", 260),
  texts("status", 80),
  texts("component", 110),
  texts("exception", 220),
  texts("trace", 250),
];

/** Columns that are shown unless others are chosen. */
export const USUAL = ["start", "duration", "cpu", "suspended", "queue", "calls", "transactions", "thread", "title"];

/** The same where calls of several services stand together. */
export const OF_SERVICES = USUAL.flatMap((name) => (name === "thread" ? ["service", name] : [name]));

const ATTRIBUTE = "attr.";
const COUNTER = "counter.";

/** A column by its name; what is none of the program's own is a counter or a parameter. */
export function columnOf(name: string, units: Readonly<Record<string, string>>): Column {
  const one = own().find((column) => column.name === name);
  if (one) return one;
  if (name.startsWith(ATTRIBUTE)) {
    const key = name.slice(ATTRIBUTE.length);
    const text = (call: Call) => {
      const value = call.attributes?.[key];
      return value === undefined ? "–" : valueText(value);
    };
    return { name, head: key, width: 160, isNumber: false, text, title: text };
  }
  const key = name.startsWith(COUNTER) ? name.slice(COUNTER.length) : name;
  const text = (call: Call) => counterText(call.counters?.[key], units[key]);
  return { name, head: key, width: 96, isNumber: true, text };
}

/** The value of a counter in its unit. */
export function counterText(value: number | undefined, unit: string | undefined): string {
  if (value === undefined) return "–";
  if (!value) return "0";
  if (unit === "ns" || unit === "bytes") return amount(unit, value);
  return unit && unit !== "count" ? `${grouped(value)} ${unit}` : grouped(value);
}

/** Columns that a list can have: the program's own where some call has a value, and those of its captures. */
export function columnsOf(calls: readonly Call[]): string[] {
  const some = own().filter(({ name }) => USUAL.includes(name) || calls.some((call) => of(call, name) != null));
  const keys = (object: (call: Call) => object | undefined) =>
    [...new Set(calls.flatMap((call) => Object.keys(object(call) ?? {})))].sort();
  return [
    ...some.map(({ name }) => name),
    ...keys((call) => call.counters).map((name) => COUNTER + name),
    ...keys((call) => call.attributes).map((name) => ATTRIBUTE + name),
  ];
}
