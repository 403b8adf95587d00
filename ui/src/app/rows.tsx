/* A table whose heads sort: the order is in the address, a press on a row chooses it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Address, go } from "./address";
import { say } from "./language";
import { type Column, ordered } from "./order";

/** Rows at once. */
const MANY = 200;

/** A bar of a cell, from the common zero of its column; zero draws nothing. */
function Bar({ of, most }: { of: number; most: number }): JSX.Element {
  return (
    <svg class="cell" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {of > 0 && <rect width={Math.max((of / most) * 100, 1)} height="10" />}
    </svg>
  );
}

/** The table; the last column takes the room that is left. */
export function Rows<R>(props: {
  rows: readonly R[];
  columns: readonly Column<R>[];
  /** The column that rows are sorted by at first: falling, unless it is the first. */
  first: string;
  address: Address;
  at: number;
  choose: (at: number) => void;
  label: string;
}): JSX.Element {
  const { rows, columns, address, at, choose, label } = props;
  const [most, setMost] = useState(MANY);
  const sort = address.of("sort") || `-${props.first}`;
  const name = sort.replace(/^-/, "");
  const falling = sort.startsWith("-");
  const column = columns.find((column) => column.name === name) ?? columns[0];
  const order = ordered(rows, column, falling);
  const last = columns.at(-1);
  const isText = (column: Column<R>) => rows.some((row) => typeof column.value(row) === "string");
  const largest = new Map(
    columns
      .filter((column) => column.bar)
      .map((column) => [column.name, rows.reduce((most, row) => Math.max(most, Number(column.value(row) ?? 0)), 0)]),
  );
  // A phone has room for what rows are sorted by at first, or now, and for what they are.
  const isFirst = (one: Column<R>) => one === column || one.name === props.first;
  const kind = (one: Column<R>) =>
    one === last ? "x name" : `${isText(one) ? "" : "n"} ${isFirst(one) ? "" : "desk-only"}`.trim();
  return (
    <>
      <table class="t pad dense" aria-label={label}>
        <thead>
          <tr>
            {columns.map((one) => (
              <th
                key={one.name}
                class={kind(one)}
                aria-sort={one === column ? (falling ? "descending" : "ascending") : undefined}
              >
                <button
                  type="button"
                  onClick={() => go(address.with({ sort: sort === `-${one.name}` ? one.name : `-${one.name}` }))}
                >
                  {say(one.text)}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {order.slice(0, most).map((place) => {
            const row = rows[place];
            return (
              <tr
                key={place}
                tabIndex={0}
                aria-selected={place === at}
                onClick={() => choose(place)}
                onKeyDown={(event) => event.key === "Enter" && choose(place)}
              >
                {columns.map((one) => (
                  <td key={one.name} class={kind(one)} title={one === last ? one.cell(row) : undefined}>
                    {one.cell(row)}
                    {one.bar && <Bar of={Number(one.value(row) ?? 0)} most={largest.get(one.name) ?? 0} />}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {order.length > most && (
        <button type="button" class="btn" onClick={() => setMost(most * 5)}>
          {say("rows.more", { rows: order.length - most })}
        </button>
      )}
    </>
  );
}
