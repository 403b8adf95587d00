/* Now: what is slow, what is there, what arrives, and how to send. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { amount, grouped, percent } from "../shared/amount";
import { type Address, go } from "./address";
import type { Call, Capture, Listener, Overview, Service } from "./api";
import { callPage } from "./call";
import { titleOf } from "./call_columns";
import { CellBar } from "./call_pane";
import { capturePage, doubtsOf, nameOf, notesOf } from "./captures";
import { ofEntry } from "./filter";
import { type Asked, Copied, Link, Progress, Said, useAnswer, useRead } from "./frame";
import { Icon } from "./icons";
import { known, say, show } from "./language";
import { keyOfService } from "./services";
import { Spark } from "./spark";
import { ago, exact } from "./times";
import { Drop, Sent, useUploads } from "./upload";

/** Bytes of captures, the newest, that are read for the numbers of calls unless the address says otherwise. */
const AT_ONCE = 256 << 20;
/** Bytes up to which what comes first is read again as more of it comes. */
const FIRST = 16 << 20;
/** Calls below which nothing is found. */
const FEW = 20;
/** Milliseconds between two looks at what arrives. */
const LOOK = 2000;
const ENTRIES = 12;
/** Services whose calls are counted one by one. */
const MOST_ASKED = 8;

/** Calls that have something in common. */
interface Group {
  group: string | null;
  calls: number;
  errors: number;
  total_ns: number;
  durations: { p50: number | null; p95: number | null; max: number | null };
}

/** What kinds of work functions came to; of each measure one sentence, where one stands out. */
interface Hotspots {
  measure: string;
  unit: string;
  finding: string | null;
}

interface Settings {
  settings: Record<string, string | number | boolean>;
}

const took = (ns: number | null | undefined): string => (ns ? amount("ns", ns) : "–");

/** How each listener is sent to: what it is for, and a command. */
function ways(
  listeners: readonly Listener[],
): { name: string; what: string; listener: Listener; commands: string[] }[] {
  const origin = location.origin;
  const all = listeners.map((listener) => {
    const { name, send_to: to } = listener;
    const commands: string[] = [];
    if (name === "http") {
      commands.push(
        `traceloom push FILE --to ${origin}`,
        `export OTEL_EXPORTER_OTLP_ENDPOINT=${origin} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`,
      );
    } else if (name === "otlp-grpc" && to) {
      commands.push(`export OTEL_EXPORTER_OTLP_ENDPOINT=${to} OTEL_EXPORTER_OTLP_PROTOCOL=grpc`);
    } else if (to) {
      commands.push(`traceloom send FILE --to ${to}`);
    }
    if (name === "cdt" && to) {
      const { hostname, port } = new URL(to.replace(/^\w+:/, "http:"));
      commands.unshift(`export REMOTE_DUMP_HOST=${hostname} REMOTE_DUMP_PORT_PLAIN=${port}`);
    }
    return {
      name,
      what: known(`listener.${name.replace("_", "-")}`) ?? name,
      listener,
      commands,
    };
  });
  // What has no command of its own is reached through another listener.
  return all.filter(({ commands }) => commands.length);
}

/** A first capture without any agent. */
const sample = (): string =>
  `printf 'main;work 7\\n' > sample.folded && traceloom push sample.folded --to ${location.origin}`;

function Arriving({ listeners }: { listeners: readonly Listener[] }): JSX.Element {
  return (
    <section class="blk">
      <h2 class="h">{say("now.arriving")}</h2>
      <table class="t dense">
        <thead>
          <tr>
            <th>{say("now.listener")}</th>
            <th class="n">{say("now.connections")}</th>
            <th class="n">{say("captures.received")}</th>
            <th class="n">{say("now.refused")}</th>
            <th class="n">{say("now.lost")}</th>
          </tr>
        </thead>
        <tbody>
          {listeners.map((one) => (
            <tr key={one.name}>
              <td class="s">{one.name}</td>
              <td class="n">{grouped(one.sessions)}</td>
              <td class={one.received_bytes ? "n" : "n dim3"}>
                {one.received_bytes ? amount("bytes", one.received_bytes) : say("now.nothing")}
              </td>
              <td class={one.refused ? "n bad" : "n dim3"}>{grouped(one.refused)}</td>
              <td class={one.lost ? "n bad" : "n dim3"}>{grouped(one.lost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim3 sm">{say("now.since")}</p>
    </section>
  );
}

function Store({ captures, services }: { captures: readonly Capture[]; services: readonly Service[] }): JSX.Element {
  const { answer } = useRead<Settings>("settings");
  const stored = services.reduce((sum, service) => sum + service.stored_bytes, 0);
  const days = answer?.settings["keep-days"];
  const mib = answer?.settings["keep-mib"];
  const most = typeof mib === "number" ? mib * 2 ** 20 : undefined;
  return (
    <section class="blk">
      <h2 class="h">
        {say("now.store")}{" "}
        <small>{days === undefined ? say("now.kept") : say("now.kept.days", { days: Number(days) })}</small>
      </h2>
      {most !== undefined && <progress class="full" max={most} value={stored} aria-label={say("now.disk")} />}
      <p class="sm row">
        <span>
          {show("now.stored", {
            size: amount("bytes", stored),
            captures: <Link to="/captures">{say("captures.count", { captures: captures.length })}</Link>,
          })}
        </span>
        <span class="grow" />
        <span class="dim">
          {most === undefined ? say("now.unlimited") : say("now.limit", { size: amount("bytes", most) })}
        </span>
      </p>
    </section>
  );
}

function Doubts({ captures }: { captures: readonly Capture[] }): JSX.Element | null {
  const doubtful = captures
    .filter((capture) => doubtsOf(capture) > 0)
    .slice(-4)
    .reverse();
  if (!doubtful.length) return null;
  return (
    <section class="blk">
      <h2 class="h">
        {say("now.notes")} <small>{say("now.notes.of")}</small>
      </h2>
      <ul>
        {doubtful.map((capture) => (
          <li key={capture.id} class="row sm">
            <span class="warn">
              <Icon name="warning" />
            </span>
            <span>
              <Link to={capturePage(capture.id)}>{nameOf(capture)}</Link>: {capture.doubts[0] ?? notesOf(capture)}
              {capture.doubts[0] && doubtsOf(capture) > 1 && say("now.notes.more", { notes: doubtsOf(capture) - 1 })}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A service; what its calls came to is asked where there is a budget for it. */
function ServiceRow(props: { service: Service; name: string; budget: string | undefined }): JSX.Element {
  const { service, budget } = props;
  const query = `svc=${encodeURIComponent(props.name)}`;
  const { answer } = useAnswer<Overview>(budget === undefined ? undefined : `calls/overview?${query}&${budget}`);
  const [calls] = answer?.rows ?? [];
  return (
    <tr>
      <td class="x" title={service.service}>
        <Link to={`/calls?${query}`} class="s">
          {service.service || say("unnamed")}
        </Link>
      </td>
      <td class="wide">{calls && calls.calls > 0 && <Spark overview={calls} />}</td>
      <td class="n">{calls ? grouped(calls.calls) : "–"}</td>
      <td class="n wide">{took(calls?.durations.p50)}</td>
      <td class="n wide">{took(calls?.durations.p95)}</td>
      <td class="n">{took(calls?.durations.max)}</td>
      <td class={calls?.errors ? "n bad" : "n dim3"}>{calls ? grouped(calls.errors) : "–"}</td>
      <td class="n wide">{grouped(service.instances.length)}</td>
      <td class="n wide">{amount("bytes", service.bytes)}</td>
      <td class="dim wide" title={exact(service, "last_ns")}>
        {ago(service.last_ns, Date.now())}
      </td>
    </tr>
  );
}

function Services(props: { services: readonly Service[]; budget: string | undefined }): JSX.Element {
  const { services, budget } = props;
  const namespaces = [...new Set(services.map(({ namespace }) => namespace))].sort();
  const busiest = [...services].sort((a, b) => (b.last_ns ?? 0) - (a.last_ns ?? 0)).slice(0, MOST_ASKED);
  return (
    <section class="blk">
      <h2 class="h">
        {say("now.services")} <small>{say("now.namespaces", { namespaces: namespaces.length })}</small>
      </h2>
      <table class="t">
        <thead>
          <tr>
            <th>{say("captures.service")}</th>
            <th class="wide">{say("now.activity")}</th>
            <th class="n">{say("call.calls")}</th>
            <th class="n wide">{say("now.median")}</th>
            <th class="n wide">{say("now.p95.short")}</th>
            <th class="n">{say("now.longest")}</th>
            <th class="n">{say("failed")}</th>
            <th class="n wide">{say("now.instances")}</th>
            <th class="n wide">{say("captures.size")}</th>
            <th class="wide">{say("now.last")}</th>
          </tr>
        </thead>
        {namespaces.map((namespace) => (
          <tbody key={namespace}>
            <tr class="grp">
              <th scope="rowgroup" colSpan={10} class="text plain">
                {namespace || say("now.namespaceless")}
              </th>
            </tr>
            {services
              .filter((service) => service.namespace === namespace)
              .map((service) => (
                <ServiceRow
                  key={service.service}
                  service={service}
                  name={keyOfService(service, services)}
                  budget={busiest.includes(service) ? budget : undefined}
                />
              ))}
          </tbody>
        ))}
      </table>
      {services.length > MOST_ASKED && <p class="dim sm">{say("now.some", { services: MOST_ASKED })}</p>}
    </section>
  );
}

function Entries({ groups, all }: { groups: readonly Group[]; all: Overview | undefined }): JSX.Element | null {
  if (!groups.length) return null;
  const most = Math.max(...groups.map(({ total_ns }) => total_ns), 1);
  return (
    <section class="blk">
      <h2 class="h">
        {say("now.entries")}{" "}
        {all && (
          <small>
            {say("now.entries.of", {
              entries: groups.length,
              calls: all.calls,
              time: amount("ns", all.total_ns),
            })}
          </small>
        )}
      </h2>
      <table class="t dense">
        <thead>
          <tr>
            <th>{say("now.entry")}</th>
            <th class="n">{say("call.calls")}</th>
            <th aria-sort="descending">{say("now.time")} ↓</th>
            <th class="n wide">{say("share")}</th>
            <th class="n wide">{say("now.median")}</th>
            <th class="n">{say("now.longest")}</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((one) => (
            <tr key={one.group ?? ""}>
              <td class="x" title={one.group ?? undefined}>
                {one.group ? (
                  <Link to={`/calls?sort=-duration&q=${encodeURIComponent(ofEntry(one.group))}`}>{one.group}</Link>
                ) : (
                  "–"
                )}
              </td>
              <td class="n">{grouped(one.calls)}</td>
              <td class="bars">
                <CellBar text={amount("ns", one.total_ns)} share={one.total_ns / most} />
              </td>
              <td class="n wide">{all ? percent(one.total_ns, all.total_ns) : "–"}</td>
              <td class="n wide">{took(one.durations.p50)}</td>
              <td class="n">{took(one.durations.max)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The empty store: one screen that says how to send. */
function Empty(props: { listeners: readonly Listener[]; uploads: ReturnType<typeof useUploads> }): JSX.Element {
  return (
    <main class="page narrow">
      <h1 class="finding">{say("empty")}</h1>
      <p class="lead">{say("empty.how")}</p>
      <Drop send={props.uploads.send}>{say("drop.formats")}</Drop>
      <Sent sending={props.uploads.sending} />
      <h2 class="h blk">{say("empty.try")}</h2>
      <Copied command={sample()} />
      <h2 class="h blk">{say("send")}</h2>
      {ways(props.listeners).map(({ name, what, commands }) => (
        <div key={name} class="way">
          <h3 class="s">{what}</h3>
          {commands.map((command) => (
            <Copied key={command} command={command} />
          ))}
        </div>
      ))}
    </main>
  );
}

/** One sentence about what is slow. */
function Finding(props: {
  overview: Overview | undefined;
  finding: string | null;
  services: number;
  captures: number;
}): JSX.Element {
  const { overview, finding } = props;
  const longest =
    overview && overview.calls >= FEW ? say("now.slowest", { duration: took(overview.durations.max) }) : "";
  const sent = say("now.sent", { services: props.services, captures: props.captures });
  const text = [finding, longest].filter(Boolean).join("; ") || sent;
  return (
    <h1 class="finding">
      {text.charAt(0).toUpperCase()}
      {text.slice(1)}
      {say("stop")}
    </h1>
  );
}

/** Returns true of a question that is asked, or was taken back. */
const isGoing = ({ isAsking, isStopped }: Asked<unknown>): boolean => isAsking || isStopped;

/** The page. */
export function Now({ address }: { address: Address }): JSX.Element {
  const [round, setRound] = useState(0);
  const isLive = address.of("live") === "1";
  const captures = useAnswer<Capture>(`captures?round=${round}`);
  const services = useAnswer<Service>(`services?round=${round}`);
  const listeners = useAnswer<Listener>(`listeners?round=${round}`);
  const uploads = useUploads(() => setRound((round) => round + 1));
  const [isFirst, setFirst] = useState(false);
  const list = services.answer?.rows ?? [];
  const bytes = list.reduce((sum, service) => sum + service.bytes, 0);
  const isWanted = services.answer !== undefined && list.length > 0;
  // While it is live, what needs every call read stays as it was.
  const budget = address.asked(["budget"], bytes > AT_ONCE ? { budget: String(AT_ONCE) } : {});
  const once = isWanted ? `round=${isLive && !isFirst ? 0 : round}&${budget}` : undefined;
  const overview = useAnswer<Overview>(once && `calls/overview?${once}`);
  const groups = useAnswer<Group>(overview.answer && once && `calls/groups?by=title-shape&n=${ENTRIES}&${once}`);
  const hotspots = useAnswer<Hotspots>(groups.answer && once && `hotspots?${once}`);
  const slowest = useAnswer<Call>(hotspots.answer && once && `calls?sort=-duration&n=1&${once}`);
  const [all] = overview.answer?.rows ?? [];
  const [slow] = slowest.answer?.rows ?? [];
  const rows = captures.answer?.rows ?? [];
  const isEmpty = captures.answer !== undefined && !rows.length;
  useEffect(() => {
    if (isEmpty) setFirst(true);
  }, [isEmpty]);
  // A page that was empty goes on until nothing more comes, so that it shows all of what came first.
  const came = `${rows.length} ${bytes}`;
  const before = useRef("");
  useEffect(() => {
    if (!isFirst || isEmpty || captures.isAsking || services.isAsking) return;
    if (before.current === came || bytes > FIRST) setFirst(false);
    before.current = came;
  }, [isFirst, isEmpty, captures.isAsking, services.isAsking]);
  const isBusy = [captures, services, overview, groups, hotspots, slowest].some(({ isAsking }) => isAsking);
  useEffect(() => {
    if (isBusy || !(isLive || isEmpty || isFirst)) return;
    const timer = setTimeout(() => setRound((round) => round + 1), LOOK);
    return () => clearTimeout(timer);
  }, [isBusy, isLive, isEmpty, isFirst, round]);
  if (isEmpty) return <Empty listeners={listeners.answer?.rows ?? []} uploads={uploads} />;
  const over = all?.longer.find(({ duration_ns }) => duration_ns === 1e9)?.calls;
  const figures: [string, string, string?][] = all
    ? [
        [grouped(all.calls), say("call.calls")],
        [took(all.durations.p50), say("now.median")],
        [took(all.durations.p95), say("now.p95")],
        [took(all.durations.max), say("now.longest")],
        [
          grouped(all.errors),
          all.calls ? say("now.failed", { share: percent(all.errors, all.calls) }) : say("failed"),
          all.errors ? "bad" : "",
        ],
      ]
    : [];
  return (
    <main class="page">
      <div class="row">
        <span class="dim sm grow">
          {rows.length > 0 &&
            say("now.received", {
              when: ago(Math.max(...rows.map(({ closed_ns, opened_ns }) => closed_ns ?? opened_ns ?? 0)), Date.now()),
            })}
        </span>
        <button
          type="button"
          class="btn"
          aria-pressed={isLive}
          onClick={() => go(address.with({ live: isLive ? "" : "1" }))}
        >
          <span class="live">{say("live")}</span>
        </button>
      </div>
      <Said problem={captures.problem ?? overview.problem} messages={captures.answer?.messages} />
      <Progress what={say("page.calls")} {...([overview, groups, hotspots, slowest].find(isGoing) ?? overview)} />
      {captures.answer ? (
        <Finding
          overview={all}
          finding={hotspots.answer?.rows.find(({ unit }) => unit === "ns")?.finding ?? null}
          services={list.length}
          captures={rows.length}
        />
      ) : (
        <h1 class="finding">{say("now.reading")}</h1>
      )}
      {slow && (
        <p class="lead">
          <Link to={callPage(slow, address) ?? "/calls?sort=-duration"}>{titleOf(slow)}</Link>{" "}
          <span class="dim">{say("now.took", { duration: took(slow.duration) })}</span>
          {over ? (
            <>
              {" · "}
              <Link to={`/calls?sort=-duration&q=${encodeURIComponent("duration >= 1s")}`}>
                {say("now.over", { calls: over })}
              </Link>
            </>
          ) : null}
        </p>
      )}
      {figures.length > 0 && (
        <div class="figs far">
          {figures.map(([value, name, kind]) => (
            <div key={name}>
              <b class={kind}>{value}</b>
              <span>{name}</span>
            </div>
          ))}
        </div>
      )}
      <div class="columns">
        <div>
          <Services services={list} budget={slowest.answer && budget} />
          <Entries groups={groups.answer?.rows ?? []} all={all} />
        </div>
        <div>
          <Arriving listeners={listeners.answer?.rows ?? []} />
          <Store captures={rows} services={list} />
          <Doubts captures={rows} />
          <section class="blk">
            <h2 class="h">{say("send")}</h2>
            {ways(listeners.answer?.rows ?? []).map(
              ({ name, commands }) =>
                commands[0] && (
                  <Copied key={name} command={commands.at(commands.length > 1 && name === "cdt" ? 1 : 0) ?? ""} />
                ),
            )}
            <Drop send={uploads.send}>{say("drop")}</Drop>
            <Sent sending={uploads.sending} />
          </section>
        </div>
      </div>
    </main>
  );
}
