/* Kinds of work: their colours. */

/** What a function is where no rule names a kind. */
export const OWN = -1;
export const RUNTIME = -2;
export const NATIVE = -3;
export const UNKNOWN = -4;
/** What neither a rule nor the program's own packages claim. */
export const LIBRARY = -5;
/** What pages hold of functions that are the program's own, and of those no rule matches. */
const HELD_OWN = -2;

const UNNAMED: Record<number, string> = {
  [OWN]: "Own code",
  [RUNTIME]: "Runtime",
  [NATIVE]: "Native",
  [UNKNOWN]: "Unknown",
  [LIBRARY]: "Libraries",
};

/* The same as `hotspots/kind.rs`; `ui/examples/kinds.json` holds them together. */

/** What people call the kinds of the rules that come with the program. */
const TITLES: Record<string, string> = {
  db: "Database",
  orm: "Object-relational mapping",
  network: "Network",
  io: "Files",
  messaging: "Messaging",
  waiting: "Locks, waiting",
  gc: "GC, pauses",
  reflection: "Reflection",
  logging: "Logging",
  json: "JSON",
  xml: "XML",
  crypto: "Cryptography",
  compression: "Compression",
  web: "Web framework",
};

/** Tokens by the usual names of kinds; others are libraries. */
const TOKENS: Record<string, string> = {
  db: "k-db",
  orm: "k-db-2",
  sql: "k-db-3",
  network: "k-net",
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

/** The kind of a function without category: what the page holds of it, and the number of its colour in `colour.rs`. */
export function unnamedKind(held: number, colour: number): number {
  if (held === HELD_OWN) return OWN;
  const hue = Math.floor(colour / 3);
  return hue === 0 ? RUNTIME : hue < 3 ? NATIVE : hue === 3 ? UNKNOWN : LIBRARY;
}

export const kindName = (kind: number, categories: readonly string[]): string =>
  kind < 0 ? UNNAMED[kind] : (TITLES[categories[kind]] ?? categories[kind]);

/** What an address calls a kind. */
export const kindWord = (kind: number, categories: readonly string[]): string =>
  kind < 0 ? (UNNAMED[kind] ?? "").toLowerCase().replace(" ", "-") : categories[kind];

/** The token of a kind's colour; of own code, `shade` tells classes apart. */
export function kindToken(kind: number, categories: readonly string[], shade = 0): string {
  if (kind >= 0) return TOKENS[categories[kind]] ?? "k-lib";
  if (kind === OWN) return OWNS[shade % 3];
  if (kind === LIBRARY) return "k-lib";
  return kind === RUNTIME ? "k-rt" : kind === NATIVE ? "k-sys" : "k-none";
}
