/* What functions came to in nodes that a page has not, because they were the narrowest. */
import { numbers } from "../shared/numbers";
import type { Held } from "./data";

/** What a function came to in nodes that are not there. */
export interface Narrowest {
  own: number;
  total: number;
  count: number;
}

/** What each function came to there. */
export function narrowestOf({ rest }: Held): Map<number, Narrowest> {
  if (!rest) return new Map();
  const [own, total, count] = [rest.own, rest.total, rest.count].map(numbers);
  const rows = Array.from(numbers(rest.symbol), (symbol, at) => [symbol, at] as const);
  return new Map(rows.map(([symbol, at]) => [symbol, { own: own[at], total: total[at], count: count[at] }]));
}
