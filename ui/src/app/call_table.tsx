/* The list of calls: only the rows that are seen are elements. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { amount } from "../shared/amount";
import { type Call, keyOf } from "./api";
import { type Column, titleOf } from "./call_columns";
import { CellBar } from "./call_pane";
import { Icon } from "./icons";
import { say } from "./language";
import { PHONE, useMedia } from "./media";
import { moment } from "./times";
import { useWindow } from "./window";

/** Pixels that what a call did has at least. */
const WHAT = 240;
/** Cards that a phone shows. */
const MOST_CARDS = 200;

interface Rows {
  count: number;
  row: (number: number) => Call | undefined;
}

interface Props {
  rows: Rows;
  columns: readonly Column[];
  sort: string;
  selected: string;
  longest: number;
  isBusy: boolean;
  look: (first: number, last: number) => void;
  open: (call: Call) => void;
  order: (name: string) => void;
  move: (name: string, before: string) => void;
}

/** The method of a web request apart from its address. */
function What({ call }: { call: Call }): JSX.Element {
  const title = titleOf(call);
  const [, method, rest] = /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (.*)$/s.exec(title) ?? [];
  return (
    <>
      {/* What is cut off is the title, not how it went. */}
      {call.error && (
        <span class="bad sm">
          <Icon name="error" /> {say("failed")}{" "}
        </span>
      )}
      {call.status === "running" && <span class="warn sm">{say("call.running")} </span>}
      {method && <span class="method dim3 sm">{method} </span>}
      {rest ?? title}
    </>
  );
}

/** The table, and cards where there is no room for one. */
export function CallList(props: Props): JSX.Element {
  const isNarrow = useMedia(PHONE);
  const { rows } = props;
  const seen = useWindow<HTMLElement>(rows.count, 24, 36);
  const { first, last } = seen;
  useEffect(() => props.look(first, last), [first, last, rows.count, props.rows]);

  const shown: [number, Call | undefined][] = [];
  for (let number = first; number < last; number++) shown.push([number, rows.row(number)]);
  const day = rows.row(0)?.start;
  const key = (event: KeyboardEvent, call: Call) => {
    if (event.key === "Enter") props.open(call);
    const step = {
      j: "nextElementSibling",
      ArrowDown: "nextElementSibling",
      k: "previousElementSibling",
      ArrowUp: "previousElementSibling",
    } as const;
    const to = step[event.key as keyof typeof step];
    const next = to && (event.currentTarget as HTMLElement)[to];
    if (!(next instanceof HTMLElement)) return;
    event.preventDefault();
    next.focus();
  };
  if (isNarrow) {
    const cards: Call[] = [];
    for (let number = 0; number < Math.min(rows.count, MOST_CARDS); number++) {
      const call = rows.row(number);
      if (call) cards.push(call);
    }
    return (
      <>
        <ul class="cards" aria-busy={props.isBusy}>
          {cards.map((call) => (
            <li key={keyOf(call)} aria-current={keyOf(call) === props.selected}>
              <button type="button" onClick={() => props.open(call)}>
                <span class="l1">{titleOf(call)}</span>
                <span class="s">{amount("ns", call.duration)}</span>
              </button>
              <span class="l2">
                <span>{moment(call.start, day)}</span>
                {call.calls ? <span>{say("counted.calls", { calls: call.calls })}</span> : null}
                <span class="ell">{call.thread}</span>
                {call.error && <span class="bad">{say("failed")}</span>}
              </span>
              <i class="pb">
                <u style={{ width: `${(100 * call.duration) / Math.max(props.longest, 1)}%` }} />
              </i>
            </li>
          ))}
        </ul>
        {rows.count > MOST_CARDS && <p class="empty">{say("calls.cards", { calls: rows.count - MOST_CARDS })}</p>}
      </>
    );
  }
  const ordered = (name: string) => {
    if (props.sort === `-${name}`) return "descending" as const;
    return props.sort === name ? ("ascending" as const) : undefined;
  };
  const cell = (column: Column, call: Call) => {
    if (column.name === "title") return <What call={call} />;
    const text = column.text(call, day);
    if (column.name === "duration") return <CellBar text={text} share={call.duration / Math.max(props.longest, 1)} />;
    return text === "0" || text === "–" ? <span class="dim3">{text}</span> : text;
  };
  return (
    <section
      class="scroll grow list"
      ref={seen.scroll}
      onScroll={seen.measure}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys.
      tabIndex={0}
      aria-label={say("calls.list")}
    >
      <table
        class="t dense pad fixed"
        style={{
          minWidth: `${props.columns.reduce((sum, { width }) => sum + (width || WHAT), 0)}px`,
          ...seen.room,
        }}
        aria-busy={props.isBusy}
        aria-rowcount={rows.count + 1}
      >
        <colgroup>
          {props.columns.map(({ name, width }) => (
            <col key={name} style={width ? { width: `${width}px` } : undefined} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {props.columns.map((column) => (
              <th
                key={column.name}
                class={column.isNumber && column.name !== "duration" ? "n" : ""}
                aria-sort={ordered(column.name)}
                draggable
                onDragStart={(event) => event.dataTransfer?.setData("text/column", column.name)}
                onDragOver={(event) => event.preventDefault()}
                onDrop={(event) => {
                  event.preventDefault();
                  const name = event.dataTransfer?.getData("text/column");
                  if (name && name !== column.name) props.move(name, column.name);
                }}
              >
                <button type="button" onClick={() => props.order(column.name)}>
                  {column.head}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(([number, call]) =>
            call ? (
              <tr
                key={keyOf(call)}
                data-row={number}
                aria-rowindex={number + 2}
                tabIndex={0}
                aria-selected={keyOf(call) === props.selected}
                onClick={() => props.open(call)}
                onKeyDown={(event) => key(event, call)}
              >
                {props.columns.map((column) => (
                  <td
                    key={column.name}
                    class={column.name === "duration" ? "bars" : column.isNumber ? "n" : "ell"}
                    title={column.title?.(call)}
                  >
                    {cell(column, call)}
                  </td>
                ))}
              </tr>
            ) : (
              <tr key={`row ${number}`} data-row={number} aria-rowindex={number + 2}>
                <td colSpan={props.columns.length} class="dim3">
                  {say("reading")}
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}
