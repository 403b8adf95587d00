/* Filters with a name: those that the operator offers to everybody, and those of this browser. */

/** A filter with its name. */
export interface NamedFilter {
  name: string;
  filter: string;
}

const OWN = "traceloom.filters";

/** What is wrong with a line, from 1. */
export interface WrongLine {
  line: number;
  text: string;
}

/** Reads lines of a name, `=` and a filter, as `serve --filters` does; empty ones and those after `#` say nothing. */
export function readFilters(text: string): { filters: NamedFilter[]; wrong: WrongLine | undefined } {
  const filters: NamedFilter[] = [];
  for (const [at, whole] of text.split("\n").entries()) {
    const line = whole.trim();
    if (!line || line.startsWith("#")) continue;
    const [, name = "", filter = ""] = /^([^=]+?)\s*=\s*(.+)$/.exec(line) ?? [];
    if (!filter || filters.some((known) => known.name === name))
      return { filters, wrong: { line: at + 1, text: line } };
    filters.push({ name, filter });
  }
  return { filters, wrong: undefined };
}

/** The filters of this browser, as a file would have them. */
export const ownText = (): string => localStorage.getItem(OWN) ?? "";

/** The filters of this browser. */
export const ownFilters = (): NamedFilter[] => readFilters(ownText()).filters;

/** Keeps the filters of this browser. */
export const keepFilters = (text: string): void => localStorage.setItem(OWN, text);
