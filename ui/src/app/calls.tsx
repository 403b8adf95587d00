/* Calls: a list over all captures that the address chooses, and what one of them did. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount, counted, grouped } from "../shared/amount";
import { parts } from "../shared/names";
import { type Address, go } from "./address";
import type { Call, CallDetail, Capture } from "./api";
import { Link, Said, useAnswer } from "./frame";
import { moment } from "./times";

const CHOICE = ["q", "svc", "capture", "from", "to"] as const;
/** Conditions that a press adds. */
const LONGER = ["10ms", "100ms", "500ms", "1s", "5s"] as const;

/** A column: its name for the API, what a head says, and the cell of a call. */
const COLUMNS: readonly [name: string, cell: (call: Call, all: readonly Call[]) => string, kind: string][] = [
  ["start", (call, all) => moment(call.start, all[0]?.start), ""],
  ["duration", (call) => amount("ns", call.duration), "n s"],
  ["cpu", (call) => time(call.cpu), "n wide"],
  ["suspended", (call) => time(call.suspended), "n wide"],
  ["queue", (call) => time(call.queue), "n wide"],
  ["calls", (call) => (call.calls ? grouped(call.calls) : "–"), "n wide"],
  ["thread", (call) => call.thread ?? "–", "wide"],
  ["title", (call) => titleOf(call), "x"],
];

const time = (ns: number | null | undefined): string => {
  if (ns === null || ns === undefined) return "–";
  return ns ? amount("ns", ns) : "0";
};

/** What a call did: its title, else its method. */
export const titleOf = (call: Call): string => call.title || parts(call.method ?? "").method || "–";

/** Adds a condition to a filter, in place of an older one of the same field. */
export function longerThan(filter: string, least: string): string {
  const rest = filter
    .replace(/\s*(and\s+)?duration\s*>=\s*\S+/g, "")
    .replace(/^\s*and\s+/, "")
    .trim();
  if (!least) return rest;
  return rest ? `${rest} and duration >= ${least}` : `duration >= ${least}`;
}

function Filter({ address, found }: { address: Address; found: string }): JSX.Element {
  const captures = useAnswer<Capture>("captures");
  const names = new Set((captures.answer?.rows ?? []).map((capture) => capture.service));
  const least = /duration\s*>=\s*(\S+)/.exec(address.of("q"))?.[1] ?? "";
  const submit = (event: Event) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("q") as HTMLInputElement;
    go(address.with({ q: field.value.trim(), sel: "" }));
  };
  return (
    <>
      <form class="bar rule" onSubmit={submit}>
        <label class="select">
          <span class="dim3">Service</span>
          <select
            value={address.of("svc")}
            onChange={(event) => go(address.with({ svc: event.currentTarget.value, sel: "" }))}
          >
            <option value="">all</option>
            {[...names].sort().map((name) => (
              <option key={name} value={name}>
                {name || "no name"}
              </option>
            ))}
          </select>
        </label>
        <label class="field grow">
          <span class="vh">Filter</span>
          <input
            key={address.of("q")}
            name="q"
            class="q"
            defaultValue={address.of("q")}
            placeholder="words, $param=value, duration > 100ms and not error"
          />
          <span class="cnt">{found}</span>
        </label>
      </form>
      <fieldset class="bar chips">
        <legend class="vh">Longer than</legend>
        <span class="dim">Longer than</span>
        {["", ...LONGER].map((text) => (
          <button
            key={text}
            type="button"
            class="chip"
            aria-pressed={least === text}
            onClick={() => go(address.with({ q: longerThan(address.of("q"), text), sel: "" }))}
          >
            {text || "all"}
          </button>
        ))}
      </fieldset>
    </>
  );
}

function Details({ call, close }: { call: Call; close: () => void }): JSX.Element {
  const capture = call.capture?.id ?? "";
  const asked = useAnswer<CallDetail>(
    call.capture && `calls/${encodeURIComponent(call.capture.call)}?capture=${encodeURIComponent(capture)}`,
  );
  const detail = asked.answer?.rows[0];
  const own = new Map<string, number>();
  for (const span of detail?.spans ?? []) own.set(span.function, (own.get(span.function) ?? 0) + span.self_ns);
  const most = [...own].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
  const scope = `capture=${encodeURIComponent(capture)}`;
  return (
    <aside class="pane" aria-label="The call">
      <section>
        <div class="row">
          <h2 class="title grow">{titleOf(call)}</h2>
          <button type="button" class="btn" onClick={close} aria-label="Close">
            ✕
          </button>
        </div>
        <p class="dim sm">
          {moment(call.start)} · {call.thread}
        </p>
        <p class="figs">
          <span>
            <b>{amount("ns", call.duration)}</b> duration
          </span>
          {detail && (
            <span>
              <b>{grouped(detail.spans.length)}</b> spans
            </span>
          )}
          {call.error && <span class="bad">failed</span>}
        </p>
        <p class="sm">
          <Link to={`/draw?view=flame&${scope}`}>Flame graph</Link> ·{" "}
          <Link to={`/draw?view=timeline&${scope}`}>Timeline</Link> ·{" "}
          <Link to={`/draw?view=report&${scope}`}>Report</Link>, of its capture {capture}
        </p>
        <Said problem={asked.problem} messages={asked.answer?.messages} />
      </section>
      {most.length > 0 && (
        <section>
          <h3 class="h2">where its own time went</h3>
          <table class="t dense">
            <tbody>
              {most.slice(0, 12).map(([name, ns]) => (
                <tr key={name}>
                  <td class="n">{amount("ns", ns)}</td>
                  <td class="x name" title={name}>
                    <b>{parts(name).method}</b> <small>{parts(name).owner}</small>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {most.length > 12 && <p class="dim sm">{counted(most.length - 12, "more function")}</p>}
        </section>
      )}
      {detail?.sql.length ? (
        <section>
          <h3 class="h2">most time in SQL</h3>
          {detail.sql.slice(0, 6).map((statement) => (
            <div key={statement.sql}>
              <b>{amount("ns", statement.time_ns)}</b> {counted(statement.times, "time")}
              <pre>{statement.sql}</pre>
            </div>
          ))}
        </section>
      ) : null}
      <section>
        <h3 class="h2">recorded</h3>
        <dl class="kv">
          {Object.entries({ ...call.attributes, ...call.counters }).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
          <div>
            <dt>id</dt>
            <dd>{call.capture ? `${call.capture.id} ${call.capture.call}` : call.id}</dd>
          </div>
        </dl>
      </section>
    </aside>
  );
}

/** The page. */
export function CallsPage({ address }: { address: Address }): JSX.Element {
  const [rows, setRows] = useState(200);
  const sort = address.of("sort") || "-start";
  const asked = address.asked(CHOICE, { sort, n: String(rows) });
  const { answer, problem, isAsking } = useAnswer<Call>(`calls?${asked}`);
  const calls = answer?.rows ?? [];
  const key = (call: Call) => `${call.capture?.id ?? ""}/${call.capture?.call ?? call.id}`;
  const selected = calls.find((call) => key(call) === address.of("sel"));
  const open = (call: Call) => go(address.with({ sel: key(call) }), Boolean(selected));
  const order = (name: string) => {
    if (sort === `-${name}`) return "descending" as const;
    return sort === name ? ("ascending" as const) : undefined;
  };
  const found =
    answer && !isAsking ? `${counted(calls.length, "call")}${calls.length === rows ? " or more" : ""}` : "reading";
  return (
    <div class="app">
      <Filter address={address} found={found} />
      <Said problem={problem} messages={answer?.messages} />
      <div class="body">
        <main class="scroll grow">
          <h1 class="vh">Calls</h1>
          <table class="t pad" aria-busy={isAsking}>
            <thead>
              <tr>
                {COLUMNS.map(([name, , kind]) => (
                  <th key={name} class={kind} aria-sort={order(name)}>
                    <button
                      type="button"
                      onClick={() => go(address.with({ sort: sort === `-${name}` ? name : `-${name}` }))}
                    >
                      {name === "title" ? "what" : name}
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {calls.map((call) => (
                <tr
                  key={key(call)}
                  tabIndex={0}
                  aria-selected={call === selected}
                  onClick={() => open(call)}
                  onKeyDown={(event) => event.key === "Enter" && open(call)}
                >
                  {COLUMNS.map(([name, cell, kind]) => (
                    <td key={name} class={kind}>
                      {cell(call, calls)}
                      {name === "title" && call.error && <span class="bad"> failed</span>}
                      {name === "title" && call.status === "running" && <span class="warn"> running</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {answer && !calls.length && !isAsking && !problem && (
            <p class="empty">
              <b>No call matches.</b> <Link to={address.with({ q: "", svc: "", capture: "" })}>Show all calls</Link>, or
              see <Link to="/draw?view=flame">Profiles</Link>: a sampled profile has no calls.
            </p>
          )}
          {calls.length === rows && rows < 10_000 && (
            <button type="button" class="btn" onClick={() => setRows(Math.min(rows * 5, 10_000))}>
              More calls
            </button>
          )}
        </main>
        {selected && <Details key={key(selected)} call={selected} close={() => go(address.with({ sel: "" }))} />}
      </div>
    </div>
  );
}
