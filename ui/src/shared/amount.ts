/** A number with a comma before every third digit. */
export const grouped = (value: number): string => Math.round(value).toLocaleString("en-US");

/* The same as `amount.rs`; `ui/examples/amounts.json` holds them together. */

/** What a unit scales by: nanoseconds, bytes, or not at all. */
export type Scale = "ns" | "bytes" | "count";

const SCALES: Record<string, readonly (readonly [from: number, step: number, word: string])[]> = {
  ns: [
    [1e9, 1e9, "s"],
    [1e6, 1e6, "ms"],
    [1e3, 1e3, "µs"],
    [0, 1, "ns"],
  ],
  bytes: [
    [2 ** 40, 2 ** 40, "TiB"],
    [2 ** 30, 2 ** 30, "GiB"],
    [2 ** 20, 2 ** 20, "MiB"],
    [2 ** 10, 2 ** 10, "KiB"],
    [0, 1, "B"],
  ],
};

/** Times from one minute: two whole units. */
function minutes(ns: number): string {
  const seconds = Math.floor(Math.abs(ns) / 1e9);
  const hours = Math.floor(seconds / 3600);
  const left = Math.floor(seconds / 60);
  return `${ns < 0 ? "-" : ""}${hours ? `${grouped(hours)} h ${left % 60} min` : `${left} min ${seconds % 60} s`}`;
}

/** Three digits, rounded down, as in the program's own tables; `name` is that of a unit without scales. */
export function amount(unit: Scale, value: number, name = ""): string {
  const scale = SCALES[unit];
  if (unit === "ns" && Math.abs(value) >= 6e10) return minutes(value);
  if (!scale) return name ? `${grouped(value)} ${name}` : grouped(value);
  const [, step, word] = scale.find(([from]) => Math.abs(value) >= from) ?? scale[scale.length - 1];
  const shown = Math.abs(value) / step;
  const cut = (digits: number) => (Math.floor(shown * 10 ** digits + 1e-9) / 10 ** digits).toFixed(digits);
  // A clock of milliseconds did not measure the rest of `30.0 ms`.
  const isExact = unit === "ns" && value % step === 0;
  const text = step === 1 || isExact ? grouped(shown) : shown < 10 ? cut(2) : shown < 100 ? cut(1) : cut(0);
  return `${value < 0 ? "-" : ""}${text} ${word}`;
}
