/* One call: over time, as trees, by kinds of work, and everything that was recorded on it. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { amount, grouped, percent } from "../shared/amount";
import { copy } from "../shared/dom";
import { type Address, go } from "./address";
import {
  type Call,
  type CallDetail,
  type Capture,
  callQuestion,
  EVERY,
  keyOf,
  type Problem,
  placeOf,
  type Span,
} from "./api";
import { columnOf, counterText, titleOf, valueText } from "./call_columns";
import { Name, Recorded } from "./call_pane";

import { Around, CriticalPath, Exceptions, Hotspots, offset, Parameters, Statements, Trace, thrown } from "./call_tabs";
import { bottomUp, callTree } from "./call_tree";
import { heldOf } from "./flame_data";
import { FlamePart } from "./flame_part";
import { Link, Said, useAnswer } from "./frame";
import { Icicle } from "./icicle";
import { Icon } from "./icons";
import { say } from "./language";
import { SCOPE, scopeOf } from "./scope";
import { keyOfService } from "./services";
import { databaseTime, kindColour, kindOf, kindTitle, ownTimes } from "./spans";
import { Tracks } from "./timeline";
import { exact, moment } from "./times";
import { TreeTable } from "./tree_table";

/** Spans that the page reads, and levels of them. */
const MOST_SPANS = 100_000;
const DEEPEST = 1000;
/** Calls of the list that it walks. */
const WALKED = 2000;

/** The address of a call's page, with the list that it came from. */
export function callPage(call: Call, address: Address): string | undefined {
  const place = placeOf(call);
  if (!place) return undefined;
  const page = `/call/${encodeURIComponent(place.capture)}/${encodeURIComponent(place.id)}`;
  return address.with({ sel: "", cols: "", live: "", view: "", fn: "", find: "", span: "" }, page);
}

/** Capture and call of the address. */
function placeOfPage(address: Address): { capture: string; id: string } {
  const [, , capture = "", id = ""] = address.page.split("/");
  return { capture: decodeURIComponent(capture), id: decodeURIComponent(id) };
}

function Walk({ address, place }: { address: Address; place: string }): JSX.Element {
  const sort = address.of("sort") || "-start";
  const isNamed = SCOPE.some((name) => address.of(name)) || address.of("sort");
  const question = `calls?${scopeOf(address)}&sort=${encodeURIComponent(sort)}&n=${WALKED}&cols=start,duration`;
  const { answer } = useAnswer<Call>(isNamed ? question : undefined);
  const calls = answer?.rows ?? [];
  const at = calls.findIndex((call) => keyOf(call) === place || (call.trace && `${EVERY}/${call.trace}` === place));
  const to = (step: number) => {
    const call = calls[at + step];
    return call && callPage(call, address);
  };
  const step = (by: number, name: string) => {
    const next = at < 0 ? undefined : to(by);
    return (
      <button type="button" class="btn icon" disabled={!next} aria-label={name} onClick={() => next && go(next)}>
        <Icon name={by < 0 ? "back" : "right"} />
      </button>
    );
  };
  const order = sort.replace(/^-/, "");
  return (
    <>
      <Link to={address.with({ view: "", fn: "", find: "", span: "", sel: place }, "/calls")} class="row">
        <Icon name="back" /> {say("page.calls")}
      </Link>
      {at >= 0 && (
        <span class="dim sm">
          {say(calls.length === WALKED ? "call.walk.more" : "call.walk", {
            at: at + 1,
            calls: calls.length,
            order: columnOf(order, {}).head,
          })}
        </span>
      )}
      <span class="grow" />
      {step(-1, say("call.before"))}
      {step(1, say("call.next"))}
    </>
  );
}

function Figures({ detail }: { detail: CallDetail }): JSX.Element {
  const database = databaseTime(detail.spans);
  const statements = detail.sql.reduce((sum, { times }) => sum + times, 0);
  const cpu = detail.counters.cpu ?? detail.counters.cpu_time;
  const figures: [string, string][] = [[amount("ns", detail.duration_ns), say("call.duration")]];
  if (database)
    figures.push([
      amount("ns", database),
      say("call.database.share", { share: percent(database, detail.duration_ns) }),
    ]);
  if (statements) figures.push([grouped(statements), say("call.statements")]);
  if (cpu !== undefined) figures.push([cpu ? amount("ns", cpu) : "0", say("call.cpu")]);
  if (detail.suspended_ns !== null)
    figures.push([detail.suspended_ns ? amount("ns", detail.suspended_ns) : "0", say("call.paused")]);
  figures.push([grouped(detail.all_spans), say("call.spans")]);
  return (
    <div class="figs">
      {figures.map(([value, name]) => (
        <div key={name}>
          <b>{value}</b>
          <span>{name}</span>
        </div>
      ))}
    </div>
  );
}

/** Round moments of a length, for an axis. */
export function ticks(length: number, most: number): number[] {
  if (!(length > 0)) return [0];
  const rough = length / most;
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * base).find((step) => step >= rough) ?? rough;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, at) => at * step);
}

function Course(props: { detail: CallDetail; chosen: Span | undefined; choose: (span: Span) => void }): JSX.Element {
  const { detail, chosen } = props;
  const length = Math.max(detail.duration_ns, 1);
  return (
    <section class="course" aria-label={say("call.course")}>
      <div class="ruler dim3" aria-hidden="true">
        {ticks(length, 6).map((ns) => (
          <span key={ns} style={{ left: `${(100 * ns) / length}%` }}>
            {ns ? amount("ns", ns) : "0"}
          </span>
        ))}
      </div>
      <Icicle
        spans={detail.spans}
        length={length}
        level={18}
        what={say("call.course.page", { spans: detail.spans.length })}
        selected={chosen?.index}
        select={props.choose}
      />
      <p class="sm dim" aria-live="polite">
        {chosen ? (
          <>
            <Name name={chosen.function} />{" "}
            {say("call.span", {
              offset: offset(chosen.offset_ns),
              duration: amount("ns", chosen.duration_ns),
              self: amount("ns", chosen.self_ns),
            })}
          </>
        ) : (
          say("call.press")
        )}
      </p>
    </section>
  );
}

function Side({ detail, address }: { detail: CallDetail; address: Address }): JSX.Element {
  const kinds = ownTimes(detail.spans, kindOf).filter(({ ns }) => ns > 0);
  const whole = kinds.reduce((sum, { ns }) => sum + ns, 0);
  const statements = detail.sql.slice(0, 7);
  const root = detail.spans[0];
  const fn = address.of("fn");
  return (
    <aside class="pane" aria-label={say("call.side")}>
      {fn && <Around detail={detail} name={fn} address={address} />}
      <section>
        <h2 class="h2">{say("call.own")}</h2>
        <div class="stacked" aria-hidden="true">
          {kinds.map(({ key, ns }) => (
            <i key={key} class={kindColour(key)} style={{ width: `${(100 * ns) / whole}%` }} />
          ))}
        </div>
        <table class="t dense">
          <tbody>
            {kinds.map(({ key, ns }) => (
              <tr key={key}>
                <td class="x">
                  <i class={`patch ${kindColour(key)}`} /> {kindTitle(key)}
                </td>
                <td class="n">{amount("ns", ns)}</td>
                <td class="n dim">{percent(ns, whole)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p class="dim sm">{say("call.shares", { whole: amount("ns", whole) })}</p>
      </section>
      {statements.length > 0 && (
        <section>
          <h2 class="h2">
            {say("call.shapes")}{" "}
            <Link to={address.with({ view: "sql" })}>{say("call.shapes.all", { shapes: detail.sql.length })}</Link>
          </h2>
          {statements.map((statement) => (
            <div key={statement.sql} class="sql">
              <b>{amount("ns", statement.time_ns)}</b> <span class="dim sm">× {grouped(statement.times)}</span>
              <pre class="dim">{statement.sql}</pre>
            </div>
          ))}
        </section>
      )}
      <section>
        <h2 class="h2">{say("call.recorded")}</h2>
        <dl class="kv sm">
          {(root?.attributes ?? [])
            .filter(({ from }) => !from)
            .map(({ name, value }) => (
              <Recorded key={name} name={name} text={valueText(value)} />
            ))}
          {Object.entries(detail.counters).map(([name, value]) => (
            <div key={`counter ${name}`}>
              <dt>{name}</dt>
              <dd>{counterText(value, /^(cpu|queue|suspended|.*_time|.*\.wait)$/.test(name) ? "ns" : undefined)}</dd>
            </div>
          ))}
        </dl>
      </section>
    </aside>
  );
}

const TABS = [
  ["tree", "tab.tree"],
  ["up", "tab.up"],
  ["hot", "tab.hot"],
  ["flame", "flame"],
  ["path", "tab.path"],
  ["sql", "tab.sql"],
  ["parameters", "tab.parameters"],
  ["exceptions", "tab.exceptions"],
  ["thread", "tab.thread"],
  ["trace", "tab.trace"],
] as const;

const LEAST = [0, 0.1, 1, 5] as const;

function ThreadView({ detail, capture }: { detail: CallDetail; capture: string }): JSX.Element {
  // Some of what is around the call, so that its ends are seen.
  const margin = Math.max(detail.duration_ns / 10, 1e6);
  const at = (ns: number) => new Date(ns / 1e6).toISOString();
  const range = {
    ...(capture === EVERY ? {} : { capture }),
    from: at(detail.start_ns - margin),
    to: at(detail.start_ns + detail.duration_ns + margin),
  };
  const [problem, setProblem] = useState<Problem>();
  const question = new URLSearchParams(range);
  // Profiles come as captures of their own: those of the same service are meant.
  const captures = useAnswer<Capture>("captures").answer?.rows ?? [];
  const sender = captures.find(({ id, service }) => id === capture && service);
  const own = new URLSearchParams(range);
  if (sender) {
    own.delete("capture");
    own.set("svc", keyOfService(sender, captures));
  }
  if (detail.thread) own.set("q", `thread = '${detail.thread.replaceAll("'", "")}'`);
  return (
    <>
      <p class="bar dim">
        {say("thread")}
        <span class="grow" />
        <Link to={`/profiles?${own}`}>{say("thread.profiles")}</Link>
        <Link to={`/timeline?${question}`}>{say("page.timeline")}</Link>
      </p>
      <Said problem={problem} />
      <section class="part" aria-label={say("thread.timeline")}>
        <Tracks query={String(question)} isInside came={(_, problem) => setProblem(problem)} />
      </section>
    </>
  );
}

function Tab(props: {
  view: string;
  detail: CallDetail;
  address: Address;
  capture: string;
  least: number;
  words: string;
}): JSX.Element {
  const { view, detail, address, words } = props;
  const tree = useMemo(
    () => (view === "up" ? bottomUp(detail.spans) : callTree(detail.spans)),
    [detail, view === "up"],
  );
  const held = useMemo(() => (view === "flame" ? heldOf(detail) : []), [detail, view === "flame"]);
  const trace = detail.spans.find(({ trace_id }) => trace_id)?.trace_id;
  switch (view) {
    case "hot":
      return <Hotspots detail={detail} words={words} address={address} />;
    case "flame":
      return <FlamePart held={held} />;
    case "path":
      return <CriticalPath detail={detail} address={address} />;
    case "sql":
      return detail.sql.length ? <Statements detail={detail} /> : <p class="empty">{say("sql.none")}</p>;
    case "parameters":
      return <Parameters detail={detail} words={words} />;
    case "exceptions":
      return thrown(detail.spans).length ? (
        <Exceptions detail={detail} />
      ) : (
        <p class="empty">{say("exceptions.none")}</p>
      );
    case "thread":
      return <ThreadView detail={detail} capture={props.capture} />;
    case "trace":
      return trace ? <Trace trace={trace} /> : <p class="empty">{say("trace.none")}</p>;
    default:
      return (
        <TreeTable
          key={view}
          id={view}
          root={tree}
          least={props.least / 100}
          words={words}
          selected={address.of("fn")}
          select={(name) => go(address.here({ fn: name }))}
          what={say(view === "up" ? "own" : "total")}
        />
      );
  }
}

/** Moves the tabs until the chosen one is in their middle: a narrow window shows two or three of them. */
function bringIn(tab: HTMLElement | null): void {
  const list = tab?.parentElement;
  if (tab && list) list.scrollLeft = tab.offsetLeft - list.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
}

/** The page. */
export function CallPage({ address }: { address: Address }): JSX.Element {
  const place = placeOfPage(address);
  const { capture, id } = place;
  const question = callQuestion(place, `spans=${MOST_SPANS}&depth=${DEEPEST}&${address.asked(["budget"])}`);
  const asked = useAnswer<CallDetail>(question);
  const isOf = asked.question === question;
  const [detail] = (isOf && asked.answer?.rows) || [];
  const [copied, setCopied] = useState(false);
  const span = address.of("span");
  const chosen = span ? detail?.spans.find(({ index }) => String(index) === span) : undefined;
  const choose = ({ index }: Span) => go(address.here({ span: String(index) }), Boolean(chosen));
  const view = TABS.some(([name]) => name === address.of("view")) ? address.of("view") : "tree";
  const least = Number(address.of("hide") || 0.1);
  const words = address.of("find");
  const title =
    detail?.title || (detail?.spans[0] ? titleOf({ title: null, method: detail.spans[0].function } as Call) : id);
  const count = (name: string): number | undefined => {
    if (!detail) return undefined;
    if (name === "sql") return detail.sql.length;
    if (name === "parameters") return detail.spans.reduce((sum, { attributes }) => sum + attributes.length, 0);
    return name === "exceptions" ? thrown(detail.spans).length : undefined;
  };
  const tabs = TABS.filter(
    ([name]) => name !== "trace" || view === "trace" || detail?.spans.some(({ trace_id }) => trace_id),
  );
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.findIndex(([name]) => name === view);
    const to = event.key === "Home" ? tabs[0] : event.key === "End" ? tabs.at(-1) : by ? tabs[at + by] : undefined;
    if (!to) return;
    event.preventDefault();
    go(address.here({ view: to[0] === "tree" ? "" : to[0] }));
    requestAnimationFrame(() => document.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus());
  };
  const deeper = detail?.spans.some(({ depth, below }) => depth === DEEPEST && below > 0);
  return (
    <div class="app">
      <div class="bar">
        <Walk address={address} place={`${capture}/${id}`} />
        {capture !== EVERY && (
          <a class="btn" href={`/api/v1/captures/${encodeURIComponent(capture)}/original`} download={`${capture}.zip`}>
            <Icon name="download" /> {say("original")}
          </a>
        )}
        <button type="button" class="btn" onClick={async () => setCopied(await copy(location.href))}>
          <Icon name="link" /> {say(copied ? "copied" : "copy.link")}
        </button>
      </div>
      <Said problem={asked.problem} messages={isOf ? asked.answer?.messages : undefined} />
      {!detail && !asked.problem && <p class="empty">{say("call.reading")}</p>}
      {detail && (
        <div class="scroll grow call">
          <div class="callhead">
            <div class="grow">
              <h1 class="big">
                {title} {detail.spans[0]?.failed && <span class="bad sm">{say("failed")}</span>}
              </h1>
              <p class="dim" title={exact(detail, "start_ns")}>
                {[moment(detail.start_ns), detail.thread].filter(Boolean).join(" · ")}
                {capture !== EVERY && (
                  <>
                    {" "}
                    · <Link to={`/captures/${encodeURIComponent(capture)}`}>{say("capture.of", { capture })}</Link>
                  </>
                )}
              </p>
            </div>
            <Figures detail={detail} />
          </div>
          {detail.left_out > 0 && (
            <p class="note">{say("call.some", { spans: detail.spans.length, more: detail.left_out })}</p>
          )}
          {deeper && <p class="note">{say("call.deeper", { levels: DEEPEST })}</p>}
          <Course detail={detail} chosen={chosen} choose={choose} />
          <div class="bar rule tabbar">
            <div class="tabs grow" role="tablist" aria-label={say("call.views")} onKeyDown={step}>
              {tabs.map(([name, text]) => {
                const number = count(name);
                return (
                  <button
                    key={name}
                    type="button"
                    role="tab"
                    id={`tab-${name}`}
                    aria-selected={view === name}
                    aria-controls="tab"
                    tabIndex={view === name ? 0 : -1}
                    ref={view === name ? bringIn : null}
                    onClick={() => go(address.here({ view: name === "tree" ? "" : name }))}
                  >
                    {say(text)} {number !== undefined && <small>{grouped(number)}</small>}
                  </button>
                );
              })}
            </div>
            {["tree", "up", "hot", "parameters"].includes(view) && (
              <label class="field find">
                <Icon name="search" />
                <input
                  value={words}
                  placeholder={say("call.find")}
                  aria-label={say("call.find.label")}
                  onInput={(event) => go(address.here({ find: event.currentTarget.value }), true)}
                />
              </label>
            )}
            {["tree", "up"].includes(view) && (
              <label class="select">
                <span class="dim3">{say("call.hide")}</span>
                <select
                  value={String(least)}
                  onChange={(event) =>
                    go(address.here({ hide: event.currentTarget.value === "0.1" ? "" : event.currentTarget.value }))
                  }
                >
                  {LEAST.map((value) => (
                    <option key={value} value={String(value)}>
                      {value} %
                    </option>
                  ))}
                </select>
              </label>
            )}
          </div>
          <div class="below">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys. */}
            <main class="grow callview" id="tab" role="tabpanel" aria-labelledby={`tab-${view}`} tabIndex={0}>
              <Tab view={view} detail={detail} address={address} capture={capture} least={least} words={words} />
            </main>
            <Side detail={detail} address={address} />
          </div>
        </div>
      )}
    </div>
  );
}
