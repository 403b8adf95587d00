/* What the app knows of the filter language: conditions that presses add, and how a text goes on. */

/** What calls of a list can be asked for. */
export interface Vocabulary {
  /** Fields of the language. */
  fields: readonly string[];
  /** Counters and parameters that the calls of the list have. */
  names: readonly string[];
  /** Values by the name of their field or parameter. */
  values: ReadonlyMap<string, readonly string[]>;
}

/** One way in which a text goes on. */
export interface Completion {
  text: string;
  kind: "field" | "parameter" | "operator" | "value" | "word";
  /** Where what it replaces begins. */
  from: number;
}

const OPERATORS = ["=", "!=", ">", ">=", "<", "<=", "~", "!~"];
const MOST = 12;

/** A text as a value of the language: in quotes where it would be several words. */
export const quoted = (text: string): string => {
  if (/^[\w./:@-]+$/.test(text) && !/^(and|or|not)$/i.test(text)) return text;
  return text.includes("'") ? `"${text.replaceAll('"', "")}"` : `'${text}'`;
};

/** A filter for the calls of an entry point, whose `?` stand for ids; some titles have one of their own. What has no title goes by its method. */
export function ofEntry(shape: string): string {
  const pattern = shape
    .replace(/[.*+^$()|[\]{}\\]/g, "\\$&")
    .replaceAll("?", "[\\w.:?-]+")
    .replace(/['"]/g, ".");
  const titled = `title ~ '^${pattern}$'`;
  return /[\s/]/.test(shape) ? titled : `${titled} or method ~ '^${pattern}$' and title !~ .`;
}

/** How the text before the cursor goes on. */
export function completions(before: string, known: Vocabulary): Completion[] {
  const value = /(\$?[\w.-]+)\s*(!=|>=|<=|!~|=|>|<|~)\s*(["']?)([^"'\s]*)$/.exec(before);
  if (value) {
    const [, name, , quote, typed] = value;
    const of = known.values.get(name!.replace(/^\$/, "")) ?? [];
    const from = before.length - typed!.length - quote!.length;
    return starting(of, typed!, from, "value", quoted);
  }
  const complete = /(?:^|[\s(])(\$?[\w.-]+)\s+$/.exec(before);
  const isName = (name: string) => known.fields.includes(name) || known.names.includes(name.replace(/^\$/, ""));
  if (complete && isName(complete[1]!) && complete[1] !== "error") {
    return OPERATORS.map((text) => ({ text, kind: "operator", from: before.length }));
  }
  const word = /(?:^|[\s(])([+-]?)(\$?)([\w.-]*)$/.exec(before);
  if (!word) return [];
  const [, , dollar, typed] = word;
  const from = before.length - typed!.length - dollar!.length;
  const parameters = starting(known.names, typed!, from, "parameter", (name) =>
    dollar || known.fields.includes(name) ? `$${name}` : name,
  );
  if (dollar) return parameters;
  const joints = before.trim() ? ["and", "or", "not"] : ["not"];
  const words = typed ? [] : starting(joints, "", from, "word", (text) => text);
  const fields = starting(known.fields, typed!, from, "field", (text) => text);
  return [...words, ...fields, ...parameters].slice(0, MOST);
}

function starting(
  all: readonly string[],
  typed: string,
  from: number,
  kind: Completion["kind"],
  written: (text: string) => string,
): Completion[] {
  const wanted = typed.toLowerCase();
  const found = all.filter((text) => text.toLowerCase().startsWith(wanted) && text !== typed);
  return found.slice(0, MOST).map((text) => ({ text: written(text), kind, from }));
}

const DURATION = /\s*\b(and\s+)?duration\s*(>=|<=)\s*\S+/g;

/** A filter without what stands in quotes or brackets. */
function bare(filter: string): string {
  const unquoted = filter.replace(/"[^"]*"|'[^']*'/g, '""');
  const open = unquoted.replace(/\([^()]*\)/g, '""');
  return open === unquoted ? open : bare(open);
}

const isEither = (filter: string): boolean => /\bor\b/i.test(bare(filter));

/** A filter that something is added to by `and`. */
const whole = (filter: string): string => (isEither(filter) ? `(${filter})` : filter);

/** Bounds of the duration that all calls of a filter keep to. */
function boundsOf(filter: string): string[] {
  const bounds = filter.match(DURATION) ?? [];
  return !isEither(filter) && bare(filter).match(DURATION)?.length === bounds.length ? bounds : [];
}

/** A filter with its bounds of the duration in place of older ones. */
export function withDuration(filter: string, least: string, most = ""): string {
  const free = boundsOf(filter).length ? filter.replace(DURATION, "") : filter;
  const rest = whole(free.replace(/^\s*and\s+/, "").trim());
  const bounds = [least && `duration >= ${least}`, most && `duration <= ${most}`].filter(Boolean).join(" and ");
  return [rest, bounds].filter(Boolean).join(" and ");
}

/** The least duration that a filter asks for. */
export const leastDuration = (filter: string): string =>
  /duration\s*>=\s*(\S+)/.exec(boundsOf(filter).join(" "))?.[1] ?? "";

/** Returns true if a filter leaves out calls that take long: what counts of it says nothing about a list without that bound. */
export const hasMostDuration = (filter: string): boolean => boundsOf(filter).some((bound) => bound.includes("<="));

const FAILED = /(^\s*|\s+and\s+)error\s*=\s*true(?=\s+and\b|\s*$)/i;

/** Returns true if a filter asks for failed calls alone, as a press asks for them: `error` by itself is a word. */
export const asksFailed = (filter: string): boolean => FAILED.test(filter) && !/\bor\b/i.test(filter);

/** A filter that asks for failed calls alone, or does so no more. */
export function withFailed(filter: string, on: boolean): string {
  const rest = filter
    .replace(FAILED, "")
    .replace(/^\s*and\s+/i, "")
    .trim();
  if (!on) return rest;
  return rest ? `${whole(rest)} and error = true` : "error = true";
}
