/*
 * What stands between a view and its data. A page answers from the bytes it holds; a server can answer from tiles. Answers
 * are what is there now, so that a view never waits to draw.
 */

/** A moment, as its halves of 32 bits. */
export interface Moment {
  h: number;
  l: number;
}

/** Siblings that are too narrow to be told one by one. */
export interface Narrow {
  depth: number;
  /** Where they begin and how wide they are together, as shares of the whole. */
  left: number;
  width: number;
  /** How many they are; there are more where `more` is set. */
  count: number;
  more: boolean;
  sum: number;
}

/** Nodes of a tree, by their numbers in its columns, callers before callees. */
export interface Nodes {
  nodes: readonly number[];
  narrow: readonly Narrow[];
}

/** Items of a row in the order of time. Where they are narrower than a pixel, several have one place. */
export interface Items {
  readonly size: number;
  /** The first and the last item of a place, by their numbers in the columns. */
  first(place: number): number;
  last(place: number): number;
  /** The item that stands for a place. */
  shown(place: number): number;
  /** The part of a place that its items cover. */
  filled(place: number): number;
}

/** What a flame graph and a timeline ask of their data. */
export interface Source {
  /**
   * The functions on a path and what they call, as far as it lies in a window and is at least `minWidth` wide; both are
   * shares of the whole.
   */
  nodes(path: readonly number[], minWidth: number, window: readonly [from: number, range: number]): Nodes;
  /** The items of a row that are seen from one moment to another, where a pixel is so many nanoseconds. */
  items(row: number, from: Moment, to: Moment, pixel: number): Items;
}

/** What a flame graph asks, and what a timeline does. */
export type NodeSource = Pick<Source, "nodes">;
export type ItemSource = Pick<Source, "items">;
