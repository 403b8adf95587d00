import type { Scale } from "../shared/amount";
import { levels } from "../shared/names";
import { numbers } from "../shared/numbers";
import { Comparison } from "./change";
import { Course, type HeldCourse } from "./course";

/** How values of one function come together. */
export type Merge = "sum" | "min" | "max";

/** What `flame/data.rs` writes. */
export interface Held {
  title: string;
  value: string;
  /** What frames stand for: `method`, `class`, `package` or `library`. */
  dimension?: string;
  unit: Scale;
  unit_name: string;
  source: "calls" | "samples";
  merge: Merge;
  upwards: boolean;
  total: number;
  names: string[];
  /** Full names are asked for. */
  wide: boolean;
  places: string[];
  colours: string;
  group: number[];
  categories: string[];
  kinds: string;
  /** The packages that are most of what no rule matches. */
  own_packages?: string[];
  light: string[];
  dark: string[];
  left: string;
  symbol: string;
  own: string;
  count: string;
  more?: string;
  /** What functions came to in nodes that the page has not: they were the narrowest. */
  rest?: { symbol: string; own: string; total: string; count: string };
  /** One sentence about what is slow; empty where nothing stands out. */
  finding?: string;
  /** Of a difference: what each node was, and the functions of both recordings. */
  was?: string;
  was_own?: string;
  compared?: HeldComparison;
  /** When nodes ran; of trees whose frames are no functions, the node of each node of functions. */
  over_time?: HeldCourse;
  of_methods?: string;
}

interface HeldSide {
  own: string;
  total: string;
  count: string;
}

export interface HeldComparison {
  /** The other recording's word. */
  word: "before" | "after";
  /** The whole before, in the scale of the picture. */
  whole: number;
  per: "recording" | "second" | "call" | "total";
  factors: [before: number, after: number];
  calls: [before: number, after: number];
  totals: [before: number, after: number];
  finding: string;
  symbols: string;
  before: HeldSide;
  after: HeldSide;
  own_chance: (number | null)[];
  total_chance: (number | null)[];
}

/** The recording whose frames a value has, of a difference. */
export const recordingOf = (held: Held): string => (held.compared?.word === "after" ? "before" : "after");

/** The data of a graph, its columns read. */
export interface Data {
  held: Held;
  names: string[];
  /** The forms of a function's name, the longest first; each ends with the last one. */
  forms: (symbol: number) => string[];
  colours: Float64Array;
  kinds: Float64Array;
  changes: Comparison | null;
  course: Course | null;
}

/** Reads the columns; `methods` is the same value by functions, where this is not. */
export function read(held: Held, methods: Held = held): Data {
  const { names } = held;
  const known: string[][] = [];
  const forms = (symbol: number) => {
    const name = names[symbol];
    known[symbol] ??= held.wide ? [name, ...levels(name)] : levels(name);
    return known[symbol];
  };
  return {
    held,
    names,
    forms,
    colours: numbers(held.colours),
    kinds: numbers(held.kinds),
    changes: held.compared ? new Comparison(held) : null,
    course: course(held, methods),
  };
}

function course(held: Held, methods: Held): Course | null {
  if (held.over_time) return new Course(held.over_time, "");
  return methods.over_time && held.of_methods ? new Course(methods.over_time, held.of_methods) : null;
}
