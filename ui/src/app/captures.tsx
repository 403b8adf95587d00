/* Captures: every original with its notes, its bytes, and what it becomes. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount, grouped } from "../shared/amount";
import { type Address, go } from "./address";
import { AgentCommands } from "./agent";
import type { Capture, Note } from "./api";
import { Convert } from "./convert";
import { Link, Said, useAnswer } from "./frame";
import { Around } from "./hex";
import { Icon } from "./icons";
import { known, say, show } from "./language";
import { PHONE, useMedia } from "./media";
import { Pane } from "./pane";
import { ago, boundNs, exact, moment } from "./times";
import { Drop, Sent, useUploads } from "./upload";
import { useWindow } from "./window";

/** A part as `info --json` has it. */
interface Part {
  path: string;
  format: string | null;
  decoded_bytes: number;
  records: Record<string, number>;
  reason: string | null;
  time: { start_ns: number; end_ns: number; origin: string } | null;
}

interface Contents extends Part {
  inputs?: Part[];
}

/** Cards that a phone shows. */
const MOST_CARDS = 200;
/** Notes that a part shows. */
const MOST_NOTES = 500;

export const bytesOf = (capture: Capture): number => capture.parts.reduce((sum, part) => sum + part.bytes, 0);

/** What a capture is called: its service, else the file that was sent. */
export function nameOf(capture: Capture): string {
  if (capture.service) return capture.service;
  const [part] = capture.parts;
  return part?.name.replace(/^upload\//, "").split("/")[0] || capture.instance || capture.id;
}

/** What is doubtful of a capture: what the collector saw of its connection, and what decoding it showed. */
export const doubtsOf = ({ doubts, facts }: Capture): number =>
  doubts.length + (facts?.notes?.warn ?? 0) + (facts?.notes?.damage ?? 0);

/** What decoding a capture showed, in words. */
export function notesOf({ facts }: Capture): string {
  const { warn = 0, damage = 0 } = facts?.notes ?? {};
  const some = [
    damage && say("captures.damage.count", { damage }),
    warn && say("captures.warn.count", { warnings: warn }),
  ];
  return some.filter(Boolean).join(", ");
}

/** The page of a capture. */
export const capturePage = (id: string): string => `/captures/${encodeURIComponent(id)}`;

/** What a capture's state is called; one that is not sealed still arrives. */
const stateOf = (capture: Capture): string => known(`state.${capture.state}`) ?? capture.state;

const LEVELS = { info: "dim", warn: "warn", damage: "bad" } as const;
const number = (text: string): number | undefined => {
  const value = Number(text);
  return text && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
};

function Notes(props: { address: Address; part: string; notes: readonly Note[] }): JSX.Element {
  const { address, notes } = props;
  const at = number(address.of("at"));
  return (
    <section>
      <h3 class="h2">{say("captures.notes", { part: props.part.split("/").slice(-2).join("/") })}</h3>
      {!notes.length && <p class="dim">{say("none")}</p>}
      <table class="t dense">
        <tbody>
          {notes.slice(0, MOST_NOTES).map((note) => {
            const offset = `0x${note.offset.toString(16)}`;
            const open = () => go(address.with({ part: note.part, at: offset }));
            return (
              <tr
                key={`${note.offset} ${note.kind} ${note.text}`}
                tabIndex={0}
                aria-selected={at === note.offset}
                onClick={open}
                onKeyDown={(event) => event.key === "Enter" && open()}
              >
                <td class="code">{offset}</td>
                <td class={LEVELS[note.level]}>{say(`level.${note.level}`)}</td>
                <td class="x" title={note.text}>
                  {note.kind}
                  {note.count > 1 && ` × ${grouped(note.count)}`} <span class="dim">{note.text}</span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {notes.length > MOST_NOTES && (
        <p class="dim sm">{say("captures.notes.more", { notes: notes.length - MOST_NOTES })}</p>
      )}
    </section>
  );
}

function Details(props: { capture: Capture; address: Address; changed: () => void }): JSX.Element {
  const { capture, address } = props;
  const [round, setRound] = useState(0);
  const id = encodeURIComponent(capture.id);
  const again = round ? `?again=${round}` : "";
  const contents = useAnswer<Contents>(`captures/${id}`);
  const notes = useAnswer<Note>(`captures/${id}/notes${again}`);
  const [whole] = contents.answer?.rows ?? [];
  const inside = whole?.inputs ?? (whole ? [whole] : []);
  const found = notes.answer?.rows ?? [];
  const common = inside.length > 1 ? inside.map(({ path }) => path).reduce(shared) : "";
  const short = (path: string) => path.slice(common.length) || path;
  const wanted = address.of("part");
  const chosen =
    inside.find(({ path }) => path === wanted) ??
    inside.find(({ path }) => wanted && path.endsWith(wanted)) ??
    inside.find(({ path }) => found.some((note) => note.part === path)) ??
    inside[0];
  const ofPart = found
    .filter((note) => note.part === chosen?.path || inside.length === 1)
    .toSorted((one, other) => one.offset - other.offset);
  const at = number(address.of("at")) ?? ofPart[0]?.offset ?? 0;
  const records = (part: Part) =>
    Object.entries(part.records ?? {})
      .map(([kind, count]) => `${grouped(count)} ${kind}`)
      .join(", ");
  const worst = (of: readonly Note[]) =>
    of.some(({ level }) => level === "damage") ? "bad" : of.some(({ level }) => level === "warn") ? "warn" : "";
  const close = () => go(address.with({ part: "", at: "", as: "" }, "/captures"));
  const times = inside.flatMap(({ time }) => (time && time.origin === "unix" ? [time] : []));
  const covers = times.length > 0 && {
    from: Math.min(...times.map(({ start_ns }) => start_ns)),
    to: Math.max(...times.map(({ end_ns }) => end_ns)),
  };
  return (
    <Pane label={say("captures.pane")} isBroad close={close}>
      <section>
        <div class="row">
          <h2 class="title grow">
            {nameOf(capture)} <small class="dim3">{capture.id}</small>
          </h2>
          <button type="button" class="btn" onClick={() => setRound(round + 1)} disabled={notes.isAsking}>
            {say(notes.isAsking ? "captures.checking" : "captures.check")}
          </button>
          <button type="button" class="btn" onClick={() => go(address.with({ to: "choose" }))}>
            {say("captures.convert")}
          </button>
          <a class="btn" href={`/api/v1/captures/${id}/original`} download={`${capture.id}.zip`}>
            <Icon name="download" /> {say("original")}
          </a>
          <button type="button" class="btn icon" aria-label={say("close")} onClick={close}>
            <Icon name="close" />
          </button>
        </div>
        <p class="dim sm" title={exact(capture, "opened_ns")}>
          {say("captures.facts", {
            format: whole?.format ?? capture.protocol ?? say("unknown"),
            parts: inside.length || capture.parts.length,
            protocol: capture.protocol ?? say("captures.unknown"),
            when: moment(capture.opened_ns),
            state: stateOf(capture),
          })}
          {capture.pinned && say("captures.pinned")}
        </p>
        {covers && (
          <p class="dim sm">
            {say("captures.covers", { from: moment(covers.from), length: amount("ns", covers.to - covers.from) })}
          </p>
        )}
        <p class="sm">
          <Link to={`/calls?capture=${id}`}>{say("page.calls")}</Link> ·{" "}
          <Link to={`/profiles?capture=${id}`}>{say("flame")}</Link> ·{" "}
          <Link to={`/timeline?capture=${id}`}>{say("page.timeline")}</Link> ·{" "}
          <Link to={`/draw?view=report&capture=${id}`}>{say("page.report")}</Link>
        </p>
        <Said
          problem={contents.problem ?? notes.problem}
          messages={[...capture.doubts, ...(contents.answer?.messages ?? [])]}
        />
      </section>
      <section>
        <table class="t dense">
          <thead>
            <tr>
              <th>{say("captures.part")}</th>
              <th>{say("captures.records")}</th>
              <th class="n">{say("captures.decoded")}</th>
              <th class="n">{say("captures.note")}</th>
            </tr>
          </thead>
          <tbody>
            {inside.map((part) => {
              const of = found.filter((note) => note.part === part.path || inside.length === 1);
              const open = () => go(address.with({ part: part.path, at: "" }));
              return (
                <tr
                  key={part.path}
                  tabIndex={0}
                  aria-selected={part === chosen}
                  onClick={open}
                  onKeyDown={(event) => event.key === "Enter" && open()}
                >
                  <td class="long" title={part.path}>
                    {short(part.path)}
                  </td>
                  <td class="x dim" title={part.reason ?? records(part)}>
                    {part.reason ?? records(part)}
                  </td>
                  <td class="n">{amount("bytes", part.decoded_bytes)}</td>
                  <td class={of.length ? `n ${worst(of)}` : "n dim3"}>{notes.answer ? grouped(of.length) : "–"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
      <AgentCommands capture={capture} changed={props.changed} />
      {chosen && notes.answer && <Notes address={address} part={short(chosen.path)} notes={ofPart} />}
      {chosen && (
        <Around
          address={address}
          key={chosen.path}
          capture={capture.id}
          part={chosen.path}
          at={at}
          note={ofPart.find(({ offset }) => offset === at)}
        />
      )}
      {address.of("to") && <Convert address={address} capture={capture.id} />}
    </Pane>
  );
}

/** What paths begin with, up to a `/`. */
function shared(one: string, other: string): string {
  let end = 0;
  while (end < one.length && one[end] === other[end]) end++;
  return one.slice(0, one.lastIndexOf("/", end - 1) + 1);
}

/** From when to when the sender's clock has what a capture holds. */
function Times({ capture }: { capture: Capture }): JSX.Element {
  const { facts } = capture;
  const { first_ns: first, last_ns: last } = facts ?? {};
  if (!facts || typeof first !== "number" || typeof last !== "number") return <td class="wide far dim3">–</td>;
  return (
    <td class="wide far dim" title={`${exact(facts, "first_ns")}\n– ${exact(facts, "last_ns")}`}>
      {moment(first)} + {amount("ns", last - first)}
    </td>
  );
}

/** How much of a capture is doubtful; of one that is not decoded nothing is known. */
function Doubts({ capture }: { capture: Capture }): JSX.Element {
  const doubts = doubtsOf(capture);
  if (!doubts) return <td class="wide dim3">{capture.facts?.notes ? say("none") : "–"}</td>;
  const isDamaged = Boolean(capture.facts?.notes?.damage);
  return (
    <td
      class={isDamaged ? "wide bad" : "wide warn"}
      title={[...capture.doubts, notesOf(capture)].filter(Boolean).join("\n")}
    >
      <Icon name={isDamaged ? "error" : "warning"} /> {say("captures.doubts.count", { doubts })}
    </td>
  );
}

/** Captures where there is no room for a table. */
function Cards(props: {
  list: readonly Capture[];
  selected: Capture | undefined;
  open: (capture: Capture) => void;
}): JSX.Element {
  const { list } = props;
  return (
    <>
      <ul class="cards">
        {list.slice(0, MOST_CARDS).map((capture) => {
          const doubts = doubtsOf(capture);
          return (
            <li key={capture.id} aria-current={capture === props.selected}>
              <button type="button" onClick={() => props.open(capture)}>
                <span class="l1">
                  {nameOf(capture)} <small class="dim3">{capture.id}</small>
                </span>
                <span class="s">{amount("bytes", bytesOf(capture))}</span>
              </button>
              <span class="l2">
                <span>{ago(capture.opened_ns, Date.now())}</span>
                <span>{capture.protocol ?? say("unknown")}</span>
                <span class={capture.state === "open" ? "ok" : ""}>{stateOf(capture)}</span>
                {doubts > 0 && (
                  <span class="warn">
                    <Icon name="warning" /> {say("captures.doubts.count", { doubts })}
                  </span>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      {list.length > MOST_CARDS && <p class="empty">{say("captures.cards", { captures: list.length - MOST_CARDS })}</p>}
    </>
  );
}

const RECEIVED = [
  ["", "received.any"],
  ["-1h", "received.hour"],
  ["-24h", "received.day"],
  ["-7d", "received.week"],
] as const;

/** The page. */
export function CapturesPage({ address }: { address: Address }): JSX.Element {
  const [round, setRound] = useState(0);
  const { answer, problem } = useAnswer<Capture>(`captures?round=${round}`);
  const uploads = useUploads(() => setRound((round) => round + 1));
  const words = address.of("find").toLowerCase();
  const all = (answer?.rows ?? []).slice().reverse();
  const text = (capture: Capture) =>
    `${capture.id} ${nameOf(capture)} ${capture.namespace} ${capture.instance} ${capture.protocol} ${capture.state}`.toLowerCase();
  const since = address.of("received") ? boundNs(address.of("received")) : undefined;
  const isWanted = (capture: Capture) =>
    text(capture).includes(words) &&
    (!address.of("by") || capture.protocol === address.of("by")) &&
    (since === undefined || (capture.opened_ns ?? 0) >= since);
  const matching = all.filter(isWanted);
  const doubtful = matching.filter((capture) => doubtsOf(capture) > 0);
  const isDoubtful = address.of("doubtful") === "1";
  const list = isDoubtful ? doubtful : matching;
  const protocols = [...new Set(all.flatMap(({ protocol }) => protocol ?? []))].sort();
  const [, , id = ""] = address.page.split("/");
  const selected = all.find((capture) => capture.id === decodeURIComponent(id));
  const seen = useWindow<HTMLElement>(list.length, 28, 44);
  const isNarrow = useMedia(PHONE);
  const now = Date.now();
  const open = (capture: Capture) => go(address.with({ part: "", at: "", as: "", to: "" }, capturePage(capture.id)));
  return (
    <div class="app">
      <div class="bar rule">
        <label class="field grow">
          <Icon name="search" />
          <span class="vh">{say("find")}</span>
          <input
            value={address.of("find")}
            placeholder={say("captures.find")}
            onInput={(event) => go(address.with({ find: event.currentTarget.value }), true)}
          />
          <span class="cnt">{answer ? say("captures.count", { captures: list.length }) : say("reading")}</span>
        </label>
        <label class="select">
          <span class="dim3">{say("captures.protocol.label")}</span>
          <select value={address.of("by")} onChange={(event) => go(address.with({ by: event.currentTarget.value }))}>
            <option value="">{say("all")}</option>
            {protocols.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="select">
          <span class="dim3">{say("captures.received.label")}</span>
          <select
            value={address.of("received")}
            onChange={(event) => go(address.with({ received: event.currentTarget.value }))}
          >
            {RECEIVED.map(([value, name]) => (
              <option key={value} value={value}>
                {say(name)}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="chip"
          aria-pressed={isDoubtful}
          disabled={!doubtful.length && !isDoubtful}
          onClick={() => go(address.with({ doubtful: isDoubtful ? "" : "1" }))}
        >
          {say("captures.doubtful")} <span class="dim3">{grouped(doubtful.length)}</span>
        </button>
        <label class="btn primary">
          <Icon name="upload" /> {say("captures.add")}
          <input
            class="vh"
            type="file"
            multiple
            onChange={(event) => uploads.send([...(event.currentTarget.files ?? [])])}
          />
        </label>
      </div>
      <Said problem={problem} messages={answer?.messages} />
      <div class={selected ? "body beside" : "body"}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys. */}
        <main class="scroll grow" ref={seen.scroll} onScroll={seen.measure} tabIndex={0}>
          <h1 class="vh">{say("page.captures")}</h1>
          {answer && !all.length ? (
            <p class="empty">
              <b>{say("empty")}</b> {show("captures.empty", { how: <Link to="/">{say("captures.how")}</Link> })}
            </p>
          ) : isNarrow ? (
            <Cards list={list} selected={selected} open={open} />
          ) : (
            <table class="t pad" style={seen.room} aria-rowcount={list.length + 1}>
              <thead>
                <tr>
                  <th>{say("captures.capture")}</th>
                  <th class="wide far">{say("captures.instance")}</th>
                  <th class="mid">{say("captures.protocol")}</th>
                  <th class="mid" aria-sort="descending">
                    {say("captures.received")} ↓
                  </th>
                  <th class="n mid">{say("captures.size")}</th>
                  <th class="n wide far">{say("captures.records")}</th>
                  <th class="wide far">{say("captures.times")}</th>
                  <th>{say("captures.state")}</th>
                  <th class="wide">{say("captures.doubts")}</th>
                </tr>
              </thead>
              <tbody>
                {list.slice(seen.first, seen.last).map((capture, at) => (
                  <tr
                    key={capture.id}
                    tabIndex={0}
                    aria-rowindex={seen.first + at + 2}
                    aria-selected={capture === selected}
                    onClick={() => open(capture)}
                    onKeyDown={(event) => event.key === "Enter" && open(capture)}
                  >
                    <td class="x" title={`${nameOf(capture)} ${capture.id}`}>
                      <span class="s">{nameOf(capture)}</span> <small class="dim3">{capture.id}</small>
                    </td>
                    <td class="dim wide far long" title={capture.instance}>
                      {capture.instance || "–"}
                    </td>
                    <td class="dim mid">{capture.protocol ?? say("unknown")}</td>
                    <td class="mid" title={exact(capture, "opened_ns")}>
                      {ago(capture.opened_ns, now)}
                    </td>
                    <td class="n mid">{amount("bytes", bytesOf(capture))}</td>
                    <td class="n wide far">
                      {capture.facts?.records === undefined ? "–" : grouped(capture.facts.records)}
                    </td>
                    <Times capture={capture} />
                    <td class={capture.state === "open" ? "ok" : ""}>{stateOf(capture)}</td>
                    <Doubts capture={capture} />
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          {answer && all.length > 0 && !list.length && (
            <p class="empty">
              <b>{say("captures.unmatched")}</b>{" "}
              <Link to={address.with({ find: "", by: "", received: "", doubtful: "" })}>{say("captures.all")}</Link>
            </p>
          )}
          {answer && id && !selected && (
            <p class="empty">{say("captures.lost", { capture: decodeURIComponent(id) })}</p>
          )}
          <div class="page-end">
            <Drop send={uploads.send} />
            <Sent sending={uploads.sending} />
          </div>
        </main>
        {selected && (
          <Details
            key={selected.id}
            capture={selected}
            address={address}
            changed={() => setRound((round) => round + 1)}
          />
        )}
      </div>
    </div>
  );
}
