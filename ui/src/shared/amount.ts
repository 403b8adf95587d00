/**
 * A number with a comma before every third digit. Without the browser's formats, which are loaded when the first one is asked
 * for: that would be a tenth of the first drawing.
 */
export const grouped = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

/** How many things there are: `1 function`, `1,200 functions`. */
export const counted = (count: number, word: string): string => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;

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

/** From here on three digits of seconds would say 60. */
const MINUTE = 59.95e9;

/** Times from one minute: two whole units. */
function minutes(ns: number): string {
  const seconds = Math.round(ns / 1e9);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ns / 6e10);
  return `${grouped(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

/** Three digits of a quotient. */
function threeDigits(size: number, step: number): string {
  const digits = [2, 1].find((digits) => Math.round((size * 10 ** digits) / step) < 1000) ?? 0;
  return (Math.round((size * 10 ** digits) / step) / 10 ** digits).toFixed(digits);
}

/** Three digits, rounded; `name` is that of a unit without scales. */
export function amount(unit: Scale, value: number, name = ""): string {
  const scale = SCALES[unit];
  if (!scale) return name ? `${grouped(value)} ${name}` : grouped(value);
  const [sign, size] = [value < 0 ? "-" : "", Math.abs(value)];
  if (unit === "ns" && size >= MINUTE) return sign + minutes(size);
  const at = scale.findIndex(([from]) => size >= from);
  // What rounds to 1,000 ms is 1 s, what rounds to 1,024 KiB is 1 MiB.
  const above = at > 0 && Math.round(size / scale[at][1]) * scale[at][1] >= scale[at - 1][0];
  const [, step, word] = scale[above ? at - 1 : at];
  // A clock of milliseconds did not measure the rest of `30.0 ms`.
  const isExact = unit === "ns" && size % step === 0;
  const text = step === 1 || isExact ? grouped(size / step) : threeDigits(size, step);
  return `${sign}${text} ${word}`;
}

/** A share of a whole: three digits; all of it is said of all of it alone. */
export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "–";
  if (part === whole) return "100 %";
  const share = (part / whole) * 100;
  if (share !== 0 && Math.abs(share) < 0.005) return "< 0.01 %";
  if (share >= 99.95 && share < 100) return "99.9 %";
  const digits = Math.abs(share) >= 99.95 ? 0 : Math.abs(share) >= 9.995 ? 1 : 2;
  return share === 0 ? "0 %" : `${share.toFixed(digits)} %`;
}
