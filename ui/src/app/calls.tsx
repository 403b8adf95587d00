/* Calls: a list over all captures that the address chooses, where they lie in time, and what one of them did. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { amount, grouped } from "../shared/amount";
import { type Address, go } from "./address";
import { type Call, keyOf, type Overview, type Service } from "./api";
import { callPage } from "./call";
import { columnOf, columnsOf, OF_SERVICES, USUAL } from "./call_columns";
import { type CallPages, useCallPages } from "./call_pages";
import { CallPane } from "./call_pane";
import { CallList } from "./call_table";
import { isOffset } from "./clock";
import { asksFailed, hasMostDuration, leastDuration, type Vocabulary, withDuration, withFailed } from "./filter";
import { Link, Said, useAnswer, useRead } from "./frame";
import { type Chosen, Heat } from "./heat";
import { Icon } from "./icons";
import { say, show } from "./language";
import { useLive } from "./live";
import { useMedia } from "./media";
import { Popover } from "./popover";
import { Scope, scopeOf } from "./scope";
import { isOfServices, serviceTitle } from "./services";

/** Durations that chips ask for; the overview counts calls against them. */
const LONGER: readonly [ns: number, text: string][] = [
  [10e6, "10ms"],
  [100e6, "100ms"],
  [500e6, "500ms"],
  [1e9, "1s"],
  [5e9, "5s"],
];
/** Calls that are drawn one by one. */
const MOST_DOTS = 2000;
/** Bytes that are counted without being asked: more takes seconds. */
const AT_ONCE = 1 << 30;

/** What is said of calls that arrived: above the list or apart from it, all of them or not. */
const ARRIVED = [
  ["calls.arrived", "calls.arrived.more"],
  ["calls.arrived.apart", "calls.arrived.apart.more"],
] as const;

/** What of the address leaves calls out. */
const CHOSEN = ["q", "svc", "capture", "version", "from", "to"] as const;

/** Columns of the address, else the usual ones. */
const chosenColumns = (address: Address): string[] => address.of("cols").split(",").filter(Boolean);

/** Columns that give way first, and then, so that what a call did has room. */
const SPARE = ["suspended", "queue", "transactions"];
const SPARE_BESIDE = [...SPARE, "cpu", "service", "thread"];

/** The usual columns that a window has room for, beside the pane or without it. */
function useUsual(all: readonly string[], hasPane: boolean): string[] {
  const isWide = useMedia("(min-width: 1440px)");
  const isMiddle = useMedia("(min-width: 1280px)");
  const isNarrow = useMedia("(max-width: 999px)");
  const left = isNarrow || (hasPane && !isMiddle) ? SPARE_BESIDE : !isMiddle || (hasPane && !isWide) ? SPARE : [];
  return all.filter((name) => !left.includes(name));
}

function Columns(props: { address: Address; all: readonly string[]; usual: readonly string[] }): JSX.Element {
  const { address, all, usual } = props;
  const chosen = chosenColumns(address);
  const shown = chosen.length ? chosen : usual;
  const set = (names: readonly string[]) =>
    go(address.with({ cols: names.join(",") === usual.join(",") ? "" : names.join(",") }));
  const turn = (name: string) =>
    set(
      shown.includes(name)
        ? shown.filter((one) => one !== name)
        : [...shown.filter((one) => one !== "title"), name, ...shown.filter((one) => one === "title")],
    );
  const move = (name: string, step: number) => {
    const names = [...shown];
    const at = names.indexOf(name);
    names.splice(at, 1);
    names.splice(Math.max(at + step, 0), 0, name);
    set(names);
  };
  const rest = all.filter((name) => !shown.includes(name));
  return (
    <fieldset class="choice">
      <legend class="vh">{say("calls.columns")}</legend>
      {[...shown, ...rest].map((name) => {
        const at = shown.indexOf(name);
        return (
          <div key={name} class="row">
            <label class="grow ell">
              <input
                type="checkbox"
                checked={at >= 0}
                disabled={shown.length === 1 && at === 0}
                onChange={() => turn(name)}
              />{" "}
              {columnOf(name, {}).head}
            </label>
            <button
              type="button"
              class="btn icon"
              disabled={at < 1}
              onClick={() => move(name, -1)}
              aria-label={say("calls.left", { column: columnOf(name, {}).head })}
            >
              ↑
            </button>
            <button
              type="button"
              class="btn icon"
              disabled={at < 0 || at === shown.length - 1}
              onClick={() => move(name, 1)}
              aria-label={say("calls.right", { column: columnOf(name, {}).head })}
            >
              ↓
            </button>
          </div>
        );
      })}
      {chosen.length > 0 && (
        <button type="button" class="btn" onClick={() => set([])}>
          {say("calls.usual")}
        </button>
      )}
    </fieldset>
  );
}

function Export({ question, selected }: { question: string; selected: Call | undefined }): JSX.Element {
  const id = selected?.capture?.id;
  return (
    <div class="choice">
      <a class="option" href={`/api/v1/calls.csv?${question}`} download="calls.csv">
        {say("calls.csv")}
      </a>
      <a class="option" href={`/api/v1/calls?${question}&n=10000`} download="calls.json">
        {say("calls.json", { calls: 10_000 })}
      </a>
      {id ? (
        <a class="option" href={`/api/v1/captures/${encodeURIComponent(id)}/original`} download={`${id}.zip`}>
          {say("calls.original", { capture: id })}
        </a>
      ) : (
        <span class="option dim3">{say("calls.original.none")}</span>
      )}
    </div>
  );
}

/** What filters of this list can ask. */
function vocabulary(fields: readonly string[], calls: readonly Call[], services: readonly Service[]): Vocabulary {
  const values = new Map<string, Set<string>>();
  const add = (name: string, value: unknown) => {
    if (typeof value !== "string" || !value || value.length > 80) return;
    const known = values.get(name) ?? new Set();
    if (known.size < 200) known.add(value);
    values.set(name, known);
  };
  const names = new Set<string>();
  for (const { service } of services) add("service", service);
  for (const call of calls) {
    add("thread", call.thread);
    add("title", call.title);
    add("method", call.method);
    for (const name of Object.keys(call.counters ?? {})) names.add(name);
    for (const [name, value] of Object.entries(call.attributes ?? {})) {
      names.add(name);
      for (const one of Array.isArray(value) ? value : [value]) add(name, one);
    }
  }
  add("error", "true");
  const lists = [...values].map(([name, set]) => [name, [...set].sort()] as const);
  return { fields, names: [...names].sort(), values: new Map(lists) };
}

/** Counts calls of a query, at once or when asked where there is much to read. */
function useOverview(
  query: string,
  bytes: number | undefined,
): {
  overview: Overview | undefined;
  isAsking: boolean;
  ask: (() => void) | undefined;
  cancel: () => void;
} {
  const [asked, setAsked] = useState("");
  const isSmall = bytes !== undefined && bytes <= AT_ONCE;
  const isWanted = asked === `yes ${query}` || (isSmall && asked !== `no ${query}`);
  const { answer, isAsking, question } = useAnswer<Overview>(isWanted ? `calls/overview?${query}` : undefined);
  const isOf = question === `calls/overview?${query}`;
  return {
    overview: isOf ? answer?.rows[0] : undefined,
    isAsking: isAsking && isWanted,
    ask: isWanted ? undefined : () => setAsked(`yes ${query}`),
    cancel: () => setAsked(`no ${query}`),
  };
}

function Chips({ address, overview }: { address: Address; overview: Overview | undefined }): JSX.Element {
  const q = address.of("q");
  const least = leastDuration(q);
  const to = (filter: string) => go(address.with({ q: filter, sel: "" }));
  // Counts are of the list as it is; of shorter ones nothing is known.
  const count = (ns: number) => overview?.longer.find(({ duration_ns }) => duration_ns === ns)?.calls;
  const limit = LONGER.find(([, text]) => text === least)?.[0] ?? 0;
  // A press takes the most away, and what is longer comes back.
  const isCut = hasMostDuration(q);
  return (
    <>
      <span class="dim3 sm desk">{say("calls.longer")}</span>
      <button type="button" class="chip" aria-pressed={!least && !isCut} onClick={() => to(withDuration(q, ""))}>
        {say("all")} {!least && !isCut && overview && <span class="dim3">{grouped(overview.calls)}</span>}
      </button>
      {LONGER.map(([ns, text]) => {
        const calls = ns >= limit && !isCut ? count(ns) : undefined;
        return (
          <button
            key={text}
            type="button"
            class="chip"
            aria-pressed={least === text && !isCut}
            disabled={calls === 0 && least !== text}
            onClick={() => to(withDuration(q, text))}
          >
            {text.replace(/(m?s)$/, " $1")} {calls !== undefined && <span class="dim3">{grouped(calls)}</span>}
          </button>
        );
      })}
      <span class="sep desk" />
      <button
        type="button"
        class="chip"
        aria-pressed={asksFailed(q)}
        disabled={overview?.errors === 0 && !asksFailed(q)}
        onClick={() => to(withFailed(q, !asksFailed(q)))}
      >
        {say("calls.failed")} {overview && <span class="dim3">{grouped(overview.errors)}</span>}
      </button>
    </>
  );
}

function NoCalls({ address, all }: { address: Address; all: Overview | undefined }): JSX.Element {
  const q = address.of("q");
  const isChosen = CHOSEN.some((name) => address.of(name));
  return (
    <p class="empty">
      <b>{q ? show("calls.unmatched", { filter: <code>{q}</code> }) : say("calls.none")}</b>
      {all?.durations.max ? say("calls.longest", { duration: amount("ns", all.durations.max) }) : " "}
      {isChosen && (
        <>
          <Link to={address.with(Object.fromEntries([...CHOSEN, "sel"].map((name) => [name, ""])))}>
            {say("calls.all")}
          </Link>
          .{" "}
        </>
      )}
      {show("calls.sampled", {
        profiles: <Link to={address.with({ sel: "", sort: "", cols: "" }, "/profiles")}>{say("page.profiles")}</Link>,
      })}{" "}
      <Link to="/">{say("how")}</Link>
    </p>
  );
}

/** Rows of a list with those that arrived above them. */
function withLive(list: CallPages | undefined, arrived: readonly Call[]) {
  return {
    count: arrived.length + (list?.count ?? 0),
    row: (number: number) => (number < arrived.length ? arrived[number] : list?.row(number - arrived.length)),
  };
}

/** The page. */
export function CallsPage({ address }: { address: Address }): JSX.Element {
  const sort = address.of("sort") || "-start";
  const scope = useMemo(() => scopeOf(address), [address]);
  const question = `${scope}&sort=${encodeURIComponent(sort)}`;
  const { list, asked, isAsking } = useCallPages(question);
  const services = useAnswer<Service>("services");
  const form = useRead<{ fields: string[] }>("query");
  const isLive = address.of("live") === "1";
  const live = useLive(isLive ? scope : undefined);
  const svc = address.query.getAll("svc");
  const chosen = (services.answer?.rows ?? []).filter((one) => isOfServices(svc, one));
  const bytes = services.answer && chosen.reduce((sum, service) => sum + service.bytes, 0);
  const counts = useOverview(scope, bytes);
  const { overview } = counts;
  const all = useAnswer<Overview>(
    overview?.calls === 0 && address.of("q")
      ? `calls/overview?${new URLSearchParams([...new URLSearchParams(scope)].filter(([name]) => name !== "q"))}`
      : undefined,
  );
  const few = overview && overview.calls > 0 && overview.calls <= MOST_DOTS;
  const dots = useAnswer<Call>(few ? `calls?${scope}&n=${MOST_DOTS}&cols=start,duration,error` : undefined);
  // What arrives stands above the newest; in another order it is counted.
  const arrived =
    sort === "-start"
      ? live.calls.filter(
          (call) => !list?.held().some((one) => keyOf(one) === keyOf(call) && one.status === call.status),
        )
      : [];
  const rows = withLive(list, arrived);
  const held = [...arrived, ...(list?.held() ?? [])];
  const units = list?.units ?? {};
  const names = chosenColumns(address);
  const isOfMany = !address.of("svc") && (services.answer?.rows.length ?? 0) > 1;
  const hasPane = held.some((call) => keyOf(call) === address.of("sel"));
  const usual = useUsual(isOfMany ? OF_SERVICES : USUAL, hasPane);
  const columns = (names.length ? names : usual).map((name) => columnOf(name, units));
  const longest = overview?.durations.max ?? Math.max(...held.map(({ duration }) => duration), 1);
  const selected = held.find((call) => keyOf(call) === address.of("sel"));
  const open = (call: Call) => go(address.with({ sel: keyOf(call) }), Boolean(selected));
  const words = useMemo(
    () => vocabulary(form.answer?.fields ?? [], held, services.answer?.rows ?? []),
    [form.answer, list?.count, services.answer],
  );
  const choose = ({ from, to, least, most }: Chosen) => {
    const text = (ns: number) => (ns < 1e6 ? `${Math.round(ns / 1e3)}us` : `${Number((ns / 1e6).toPrecision(3))}ms`);
    const q = withDuration(address.of("q"), text(least), text(most));
    const moment = (ns: number) => new Date(ns / 1e6).toISOString();
    go(address.with({ q, from: moment(from), to: moment(to), sel: "" }));
  };
  const found = () => {
    if (asked?.problem) return "";
    if (isAsking && !list?.pages.length) return say("reading");
    if (overview) return say("calls.found", { calls: overview.calls, time: amount("ns", overview.total_ns) });
    return say(list?.next === null ? "calls.found.some" : "calls.found.more", { calls: rows.count });
  };
  const move = (name: string, before: string) => {
    const order = columns.map((column) => column.name).filter((one) => one !== name);
    order.splice(order.indexOf(before), 0, name);
    go(address.with({ cols: order.join(",") }));
  };
  const isEmpty = list && !isAsking && !rows.count && !asked?.problem;
  return (
    <div class="app">
      <Scope address={address} vocabulary={words} found={found()} refused={asked?.problem}>
        <button
          type="button"
          class="btn"
          aria-pressed={isLive}
          onClick={() => go(address.with({ live: isLive ? "" : "1" }))}
        >
          <span class="live">{say("live")}</span>
        </button>
      </Scope>
      <Said problem={asked?.problem?.column === null ? asked.problem : undefined} messages={list?.messages} />
      {live.problem && <p class="note">{live.problem}</p>}
      {asked?.isStopped && (
        <p class="note">
          {list && list !== asked ? say("calls.stopped.before") : say("calls.stopped", { calls: list?.count ?? 0 })}{" "}
          <button type="button" class="btn" onClick={() => asked.resume()}>
            {say("calls.on")}
          </button>
        </p>
      )}
      <div class="body">
        <main class="grow work">
          <h1 class="vh">
            {svc.length ? say("calls.of", { services: svc.map(serviceTitle).join(", ") }) : say("page.calls")}
          </h1>
          <div class="bar chips">
            <Chips address={address} overview={overview} />
            <span class="grow" />
            {isAsking && (
              <span class="progress dim" role="status">
                <i class="moving" /> {say("reading")}{" "}
                <button type="button" class="btn" onClick={() => asked?.stop()}>
                  {say("cancel")}
                </button>
              </span>
            )}
            <Popover
              kind="btn"
              label={
                <>
                  <Icon name="columns" /> {say("calls.columns")}
                </>
              }
            >
              {() => <Columns address={address} all={columnsOf(held)} usual={usual} />}
            </Popover>
            <Popover
              kind="btn"
              place="export"
              label={
                <>
                  <Icon name="download" /> {say("calls.export")}
                </>
              }
            >
              {() => <Export question={question} selected={selected} />}
            </Popover>
          </div>
          {counts.ask && bytes !== undefined && bytes > AT_ONCE && (
            <p class="note">
              {say("calls.newest", { size: amount("bytes", bytes) })}{" "}
              <button type="button" class="btn" onClick={counts.ask}>
                {say("calls.count")}
              </button>
            </p>
          )}
          {counts.isAsking && !overview && (
            <p class="note plain" role="status">
              {bytes === undefined ? say("calls.counting") : say("calls.counting.of", { size: amount("bytes", bytes) })}{" "}
              <button type="button" class="btn" onClick={counts.cancel}>
                {say("cancel")}
              </button>
            </p>
          )}
          {overview && overview.calls > 0 && (!few || dots.answer) && (
            <Heat
              overview={overview}
              dots={few ? dots.answer?.rows.filter(({ start }) => !overview.undated || !isOffset(start)) : undefined}
              isSelected={(call) => keyOf(call) === address.of("sel")}
              select={open}
              choose={choose}
            />
          )}
          {live.count > 0 && (
            <p class="note plain" aria-live="polite">
              {say(ARRIVED[Number(sort !== "-start")]![Number(live.isMore)]!, { calls: live.count })}{" "}
              {sort !== "-start" && <Link to={address.with({ sort: "" })}>{say("calls.first")}</Link>}
            </p>
          )}
          {isEmpty ? (
            <NoCalls address={address} all={all.answer?.rows[0]} />
          ) : (
            <CallList
              rows={rows}
              columns={columns}
              sort={sort}
              selected={address.of("sel")}
              longest={longest}
              isBusy={isAsking}
              look={(first, last) => list?.look(Math.max(first - arrived.length, 0), last - arrived.length)}
              open={(call) =>
                keyOf(call) === address.of("sel") ? go(callPage(call, address) ?? address.with({})) : open(call)
              }
              order={(name) => go(address.with({ sort: sort === `-${name}` ? name : `-${name}` }))}
              move={move}
            />
          )}
        </main>
        {selected && (
          <CallPane
            key={keyOf(selected)}
            call={selected}
            units={units}
            page={callPage(selected, address)}
            close={() => go(address.with({ sel: "" }))}
          />
        )}
      </div>
    </div>
  );
}
