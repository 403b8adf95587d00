/* Kinds of work: their colours. */

/** What a function is where no rule names a kind. */
export const OWN = -1;
export const RUNTIME = -2;
export const NATIVE = -3;
export const UNKNOWN = -4;

const UNNAMED: Record<number, string> = {
  [OWN]: "own code",
  [RUNTIME]: "runtime",
  [NATIVE]: "native",
  [UNKNOWN]: "unknown",
};

/** Tokens by the usual names of kinds; others are libraries. */
const TOKENS: Record<string, string> = {
  db: "k-db",
  orm: "k-db-2",
  sql: "k-db-3",
  network: "k-net",
  web: "k-net",
  messaging: "k-net",
  http: "k-net",
  io: "k-net",
  files: "k-net",
  locks: "k-lock",
  lock: "k-lock",
  wait: "k-lock",
  waiting: "k-lock",
  idle: "k-lock",
  gc: "k-gc",
  reflection: "k-rt",
  classloading: "k-rt",
  jit: "k-rt",
  kernel: "k-sys",
};
const OWNS = ["k-own", "k-own-2", "k-own-3"];

/** The kind of a function without category, by the number of its colour: what `colour.rs` found it to be. */
export function unnamedKind(colour: number): number {
  const hue = Math.floor(colour / 3);
  return hue === 0 ? RUNTIME : hue < 3 ? NATIVE : hue === 3 ? UNKNOWN : OWN;
}

export const kindName = (kind: number, categories: readonly string[]): string =>
  kind < 0 ? UNNAMED[kind] : categories[kind];

/** The token of a kind's colour; of own code, `shade` tells classes apart. */
export function kindToken(kind: number, categories: readonly string[], shade = 0): string {
  if (kind >= 0) return TOKENS[categories[kind]] ?? "k-lib";
  if (kind === OWN) return OWNS[shade % 3];
  return kind === RUNTIME ? "k-rt" : kind === NATIVE ? "k-sys" : "k-none";
}
