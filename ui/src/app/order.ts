/* Columns of tables, and their rows in order. */
import type { Plain } from "./language";

/** A column: its name in the address, its head, what it sorts by, and what its cells say. */
export interface Column<R> {
  name: string;
  text: Plain;
  value: (row: R) => number | string | null | undefined;
  cell: (row: R) => string;
  /** A bar stands to the right of the number. */
  bar?: boolean;
}

/** Numbers of rows in the order of a column; what is not known stands last. */
export function ordered<R>(rows: readonly R[], column: Column<R>, falling: boolean): number[] {
  const values = rows.map((row) => column.value(row) ?? null);
  const sign = falling ? -1 : 1;
  return rows
    .map((_, at) => at)
    .sort((a, b) => {
      const [one, other] = [values[a], values[b]];
      if (one === null || other === null) return Number(one === null) - Number(other === null);
      return one < other ? -sign : one > other ? sign : a - b;
    });
}
