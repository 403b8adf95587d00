/* Memory and locks: objects by class, monitors with who held them, collections. */
import type { JSX } from "preact";
import { amount, grouped } from "../shared/amount";
import { type Address, go } from "./address";
import { Progress, Said, useAnswer } from "./frame";
import { Icon } from "./icons";
import { say } from "./language";
import type { Column } from "./order";
import { Pane } from "./pane";
import { Rows } from "./rows";
import { Scope, scopeOf } from "./scope";
import { moment } from "./times";
import { useWords } from "./words";

/** What a row is of. */
interface Recorded {
  file: string;
  capture: string | null;
  service: string | null;
  instance: string | null;
}

interface Amount {
  count: number | null;
  bytes: number | null;
}

/** What `objects --json` prints of a recording. */
interface Heap {
  recording: Recorded;
  source: Record<"tracked" | "sampled" | "counted" | "dumped", boolean>;
  classes: {
    class: string | null;
    allocated: Amount;
    freed: Amount;
    live: Amount;
    delta: Amount | null;
    roots: number;
    references: number;
    held_by: { class: string | null; references: number }[];
  }[];
  collections: {
    number: number | null;
    time_ns: number | null;
    took_ns: number | null;
    allocated: Amount | null;
    freed: Amount | null;
    live: Amount | null;
    used_bytes: number | null;
    changed: { class: string | null; count: number; bytes: number }[];
  }[];
}

interface Waits {
  count: number;
  total_ns: number;
  longest_ns: number;
  open: number;
  seen: number;
}

interface Share {
  thread: string | null;
  count: number;
  total_ns: number;
}

/** What `monitors --json` prints of a monitor. */
interface Monitor {
  recording: Recorded;
  object: number | null;
  generation: number;
  class: string | null;
  of_thread: string | null;
  contended: Waits;
  waited: Waits;
  parked: Waits;
  threads: Share[];
  owners: Share[];
  stacks: { count: number; total_ns: number; frames: string[] | null }[];
}

const TABS = [
  ["objects", "memory.objects"],
  ["monitors", "memory.monitors"],
  ["gc", "memory.gc"],
] as const;

/** How many rows there are, in words. */
const COUNTED = {
  objects: (classes: number) => say("memory.objects.count", { classes }),
  monitors: (monitors: number) => say("memory.monitors.count", { monitors }),
  gc: (collections: number) => say("memory.gc.count", { collections }),
};

/** What the numbers can be from. */
const SOURCES = ["tracked", "sampled", "counted", "dumped"] as const;

const number = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : grouped(value);
const size = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : value ? amount("bytes", value) : "0";
const time = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : value ? amount("ns", value) : "0";
const change = (of: Amount | null): string => {
  if (!of?.bytes) return of ? "0" : "–";
  return of.bytes > 0 ? `+${size(of.bytes)}` : size(of.bytes);
};
const classOf = (name: string | null): string => name || say(name === null ? "memory.untold" : "unnamed");

type Class = Heap["classes"][number];
type Collection = Heap["collections"][number] & { recording: Recorded };

/** What a recording is called: its capture, and who sent it. */
const processOf = ({ file, capture, service, instance }: Recorded): string =>
  [capture, [service, instance].filter(Boolean).join("/") || (capture ? "" : file)].filter(Boolean).join(" · ");

/** The classes of a process; what none of them has was not recorded, unless every allocation and release was. */
function known({ source, classes }: Heap): Class[] {
  const has = (name: "allocated" | "freed" | "live" | "delta") =>
    source.tracked || classes.some((row) => row[name]?.count || row[name]?.bytes);
  const nothing: Amount = { count: null, bytes: null };
  const [allocated, freed, live] = [has("allocated"), has("freed"), has("live")];
  const delta = has("delta") || source.counted;
  return classes.map((row) => ({
    ...row,
    allocated: allocated ? row.allocated : nothing,
    freed: freed ? row.freed : nothing,
    live: live ? row.live : nothing,
    delta: delta ? row.delta : null,
  }));
}

const sum = (one: Amount, other: Amount): Amount => {
  const add = (one: number | null, other: number | null) => (one === null ? other : other === null ? one : one + other);
  return { count: add(one.count, other.count), bytes: add(one.bytes, other.bytes) };
};

/** The classes of several processes: each is what it comes to in all of them. */
function summed(heaps: readonly Heap[]): Class[] {
  if (heaps.length < 2) return heaps[0] ? known(heaps[0]) : [];
  const sums = new Map<string | null, Class>();
  for (const row of heaps.flatMap(known)) {
    const known = sums.get(row.class);
    if (!known) {
      sums.set(row.class, row);
      continue;
    }
    const held = new Map<string | null, number>();
    for (const one of [...known.held_by, ...row.held_by])
      held.set(one.class, (held.get(one.class) ?? 0) + one.references);
    sums.set(row.class, {
      ...known,
      allocated: sum(known.allocated, row.allocated),
      freed: sum(known.freed, row.freed),
      live: sum(known.live, row.live),
      delta: known.delta && row.delta ? sum(known.delta, row.delta) : (known.delta ?? row.delta),
      roots: known.roots + row.roots,
      references: known.references + row.references,
      held_by: [...held].map(([name, references]) => ({ class: name, references })),
    });
  }
  return [...sums.values()];
}

const CLASSES: readonly Column<Class>[] = [
  { name: "live", text: "memory.live", value: (row) => row.live.count, cell: (row) => number(row.live.count) },
  {
    name: "bytes",
    text: "memory.bytes",
    value: (row) => row.live.bytes,
    cell: (row) => size(row.live.bytes),
    bar: true,
  },
  { name: "delta", text: "memory.change", value: (row) => row.delta?.bytes, cell: (row) => change(row.delta) },
  {
    name: "allocated",
    text: "memory.allocated",
    value: (row) => row.allocated.count,
    cell: (row) => number(row.allocated.count),
  },
  {
    name: "allocated_bytes",
    text: "memory.bytes",
    value: (row) => row.allocated.bytes,
    cell: (row) => size(row.allocated.bytes),
  },
  { name: "freed", text: "memory.freed", value: (row) => row.freed.count, cell: (row) => number(row.freed.count) },
  { name: "class", text: "memory.class", value: (row) => classOf(row.class), cell: (row) => classOf(row.class) },
];

const KINDS = ["contended", "waited", "parked"] as const;
/** How often threads waited; not known of what thread dumps alone show, or what has no begin or no end. */
const timesOf = ({ count, open, seen }: Waits): number | null => (count || !(open || seen) ? count : null);
/** What waits came to, where any was measured. */
const measured = (row: Monitor, of: (waits: Waits[]) => number): number | null =>
  KINDS.some((kind) => row[kind].count) ? of(KINDS.map((kind) => row[kind])) : null;
const blocked = (row: Monitor) => measured(row, (all) => all.reduce((sum, { total_ns }) => sum + total_ns, 0));
const longest = (row: Monitor) => measured(row, (all) => Math.max(...all.map(({ longest_ns }) => longest_ns)));
const objectOf = (row: Monitor) =>
  `${classOf(row.class)}${row.object === null ? "" : ` @${row.object.toString(16)}`}${row.generation ? ` (${row.generation})` : ""}`;

const MONITORS: readonly Column<Monitor>[] = [
  { name: "blocked", text: "memory.blocked", value: blocked, cell: (row) => time(blocked(row)), bar: true },
  { name: "longest", text: "memory.longest", value: longest, cell: (row) => time(longest(row)) },
  ...KINDS.map(
    (kind): Column<Monitor> => ({
      name: kind,
      text: `memory.${kind}`,
      value: (row) => timesOf(row[kind]),
      cell: (row) => number(timesOf(row[kind])),
    }),
  ),
  {
    name: "owner",
    text: "memory.owner",
    value: (row) => row.owners[0]?.thread ?? "",
    cell: (row) => row.owners[0]?.thread ?? "–",
  },
  { name: "object", text: "memory.object", value: objectOf, cell: objectOf },
];

const COLLECTIONS: readonly Column<Collection>[] = [
  { name: "time", text: "memory.when", value: (row) => row.time_ns, cell: (row) => moment(row.time_ns) },
  { name: "took", text: "memory.took", value: (row) => row.took_ns, cell: (row) => time(row.took_ns), bar: true },
  { name: "used", text: "memory.used", value: (row) => row.used_bytes, cell: (row) => size(row.used_bytes) },
  { name: "freed", text: "memory.freed", value: (row) => row.freed?.bytes, cell: (row) => size(row.freed?.bytes) },
  { name: "live", text: "memory.live", value: (row) => row.live?.bytes, cell: (row) => size(row.live?.bytes) },
  { name: "number", text: "memory.collection", value: (row) => row.number, cell: (row) => number(row.number) },
];

/** The process, where rows are of several. */
const PROCESS: Column<{ recording: Recorded }> = {
  name: "process",
  text: "memory.process",
  value: (row) => processOf(row.recording),
  cell: (row) => processOf(row.recording),
};

/** The columns with that of the process in front of the last one. */
const among = <R extends { recording: Recorded }>(columns: readonly Column<R>[]): Column<R>[] => [
  ...columns.slice(0, -1),
  PROCESS,
  ...columns.slice(-1),
];

/** A choice of one process; of one there is none. */
function Processes({ address, all }: { address: Address; all: readonly Recorded[] }): JSX.Element | null {
  const chosen = address.of("process");
  if (all.length < 2 && !chosen) return null;
  return (
    <label class="select">
      <span class="dim3">{say("memory.process")}</span>
      <select
        name="process"
        value={chosen}
        onChange={(event) => go(address.with({ process: event.currentTarget.value, sel: "" }))}
      >
        <option value="">{say("memory.processes", { processes: all.length })}</option>
        {chosen && all.every(({ file }) => file !== chosen) && (
          <option value={chosen} lang="">
            {chosen}
          </option>
        )}
        {all.map((one) => (
          <option key={one.file} value={one.file} lang="">
            {processOf(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function ClassPane({ row }: { row: Class }): JSX.Element {
  return (
    <section>
      <h2 class="title">{classOf(row.class)}</h2>
      <p class="dim sm">
        {say("memory.class.facts", {
          live: number(row.live.count),
          size: size(row.live.bytes),
          roots: row.roots,
          references: row.references,
        })}
      </p>
      <h3 class="h2">{say("memory.held")}</h3>
      {row.held_by.length ? (
        <table class="t dense">
          <tbody>
            {row.held_by.map((one) => (
              <tr key={one.class}>
                <td class="n">{number(one.references)}</td>
                <td class="x">{classOf(one.class)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p class="dim">{say("memory.held.none")}</p>
      )}
    </section>
  );
}

function Shares({ title, rows }: { title: string; rows: readonly Share[] }): JSX.Element {
  return (
    <>
      <h3 class="h2">{title}</h3>
      <table class="t dense gap">
        <tbody>
          {rows.map((one) => (
            <tr key={one.thread}>
              <td class="n">{time(one.total_ns)}</td>
              <td class="n dim">{number(one.count)}</td>
              <td class="x">{one.thread ?? say("memory.others")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!rows.length && <p class="dim">{say("memory.unrecorded")}</p>}
    </>
  );
}

function MonitorPane({ row }: { row: Monitor }): JSX.Element {
  return (
    <section>
      <h2 class="title">{objectOf(row)}</h2>
      {row.of_thread && <p class="dim sm">{say("memory.thread", { thread: row.of_thread })}</p>}
      <dl class="kv">
        {KINDS.filter((kind) => row[kind].count || row[kind].open || row[kind].seen).map((kind) => (
          <div key={kind}>
            <dt>{say(`memory.${kind}`)}</dt>
            <dd>
              {say("memory.waits", {
                times: row[kind].count,
                total: time(row[kind].total_ns),
                longest: time(row[kind].longest_ns),
              })}
              {row[kind].open > 0 && say("memory.waits.open", { times: row[kind].open })}
              {row[kind].seen > 0 && say("memory.waits.seen", { dumps: row[kind].seen })}
            </dd>
          </div>
        ))}
      </dl>
      <Shares title={say("memory.held")} rows={row.owners} />
      <Shares title={say("memory.waiters")} rows={row.threads} />
      <h3 class="h2">{say("memory.where")}</h3>
      {row.stacks.map((stack) => (
        <details key={stack.frames?.join()}>
          <summary>
            {time(stack.total_ns)} <span class="dim">{say("counted.times", { times: stack.count })}</span>{" "}
            {stack.frames?.[0] ?? say("memory.stackless")}
          </summary>
          <pre>{stack.frames?.join("\n")}</pre>
        </details>
      ))}
    </section>
  );
}

function CollectionPane({ row }: { row: Collection }): JSX.Element {
  return (
    <section>
      <h2 class="title">
        {row.number === null ? say("memory.gc.after") : say("memory.gc.one", { number: row.number })}
      </h2>
      <p class="dim sm">
        {say("memory.gc.facts", {
          when: moment(row.time_ns),
          took: time(row.took_ns),
          used: size(row.used_bytes),
        })}
      </p>
      <h3 class="h2">{say("memory.gc.changed")}</h3>
      <table class="t dense">
        <tbody>
          {row.changed.map((one) => (
            <tr key={one.class}>
              <td class="n">{change({ count: one.count, bytes: one.bytes })}</td>
              <td class="n dim">{number(one.count)}</td>
              <td class="x">{classOf(one.class)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!row.changed.length && <p class="dim">{say("memory.unrecorded")}</p>}
    </section>
  );
}

/** Collections over time: the heap after each as bars, and how long each took as a dot, from one common zero. */
function CollectionChart({ rows }: { rows: readonly Collection[] }): JSX.Element | null {
  const placed = rows.filter((row) => row.time_ns !== null);
  if (placed.length < 2) return null;
  const times = placed.map((row) => row.time_ns ?? 0);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const used = (row: Collection) => row.used_bytes ?? row.live?.bytes ?? null;
  const most = (of: (row: Collection) => number | null) => {
    const told = placed.map(of).filter((value) => value !== null);
    return told.length ? told.reduce((most, value) => Math.max(most, value), 0) : null;
  };
  const [mostUsed, mostTook] = [most(used), most(({ took_ns }) => took_ns)];
  const x = (row: Collection) => (((row.time_ns ?? 0) - first) / (last - first || 1)) * 990 + 5;
  return (
    <figure class="heat">
      <figcaption class="dim sm">
        {say("memory.gc.map", {
          used: size(mostUsed),
          took: time(mostTook),
          from: moment(first),
          to: moment(last),
        })}
      </figcaption>
      <svg viewBox="0 0 1000 100" height="100" preserveAspectRatio="none" role="img">
        <title>{say("memory.gc.title")}</title>
        {placed.map((row, at) => {
          const high = ((used(row) ?? 0) / (mostUsed || 1)) * 96;
          return <rect key={`u${at}`} class="used" x={x(row) - 2} y={100 - high} width="4" height={high} />;
        })}
        {placed.map(
          (row, at) =>
            row.took_ns !== null && (
              <path key={`t${at}`} class="took" d={`M${x(row)} ${96 - (row.took_ns / (mostTook || 1)) * 90}h0`}>
                <title>{`${moment(row.time_ns)}: ${time(row.took_ns)}`}</title>
              </path>
            ),
        )}
      </svg>
    </figure>
  );
}

/** The first tab that has something. */
function firstTab(heaps: readonly Heap[] = [], monitors: readonly Monitor[] = []): (typeof TABS)[number][0] {
  if (heaps.some(({ classes }) => classes.length)) return "objects";
  if (monitors.length) return "monitors";
  return heaps.some(({ collections }) => collections.length) ? "gc" : "objects";
}

/** The page. */
export function MemoryPage({ address }: { address: Address }): JSX.Element {
  const wanted = TABS.find(([name]) => name === address.of("tab"))?.[0];
  const choice = scopeOf(address, { n: "10000" });
  const heaps = useAnswer<Heap>(wanted === "monitors" ? undefined : `objects?${choice}`);
  const isWithoutObjects = heaps.answer?.rows.every(({ classes }) => !classes.length) ?? false;
  const isAsked = wanted === "monitors" || (!wanted && isWithoutObjects);
  const monitors = useAnswer<Monitor>(isAsked ? `monitors?${choice}` : undefined);
  const tab = wanted ?? firstTab(heaps.answer?.rows, monitors.answer?.rows);
  const asked = tab === "monitors" ? monitors : heaps;
  const at = /^\d+$/.test(address.of("sel")) ? Number(address.of("sel")) : -1;
  const choose = (to: number) => go(address.with({ sel: to < 0 ? "" : String(to) }), at >= 0 && to >= 0);
  const everyone = [...(heaps.answer?.rows ?? []), ...(monitors.answer?.rows ?? [])].map((row) => row.recording);
  const processes = [...new Map(everyone.map((one) => [one.file, one])).values()];
  const process = address.of("process");
  const isOf = ({ recording }: { recording: Recorded }) => !process || recording.file === process;
  const rows = (heaps.answer?.rows ?? []).filter(isOf);
  const classes = summed(rows);
  const collections = rows.flatMap(({ recording, collections }) => collections.map((one) => ({ ...one, recording })));
  const waits = (monitors.answer?.rows ?? []).filter(isOf);
  const isOne = Boolean(process) || processes.length < 2;
  const sources = SOURCES.filter((key) => rows.some((row) => row.source[key]));
  const counts: Record<string, number | undefined> = {
    objects: heaps.answer && classes.length,
    monitors: monitors.answer && waits.length,
    gc: heaps.answer && collections.length,
  };
  const found = asked.isAsking ? say("reading") : COUNTED[tab](counts[tab] ?? 0);
  const lists = {
    objects: (
      <Rows rows={classes} columns={CLASSES} first="bytes" {...{ address, at, choose }} label={say("memory.classes")} />
    ),
    monitors: (
      <Rows
        rows={waits}
        columns={isOne ? MONITORS : among(MONITORS)}
        first="blocked"
        {...{ address, at, choose }}
        label={say("memory.monitors")}
      />
    ),
    gc: (
      <Rows
        rows={collections}
        columns={isOne ? COLLECTIONS : among(COLLECTIONS)}
        first="time"
        {...{ address, at, choose }}
        label={say("memory.collections")}
      />
    ),
  };
  const panes = {
    objects: classes[at] && <ClassPane row={classes[at]} />,
    monitors: waits[at] && <MonitorPane row={waits[at]} />,
    gc: collections[at] && <CollectionPane row={collections[at]} />,
  };
  const nothing = {
    objects: say("memory.objects.none"),
    monitors: say("memory.monitors.none"),
    gc: say("memory.gc.none"),
  };
  return (
    <main class="app">
      <h1 class="vh">{say("memory")}</h1>
      <Scope address={address} vocabulary={useWords()} found={found} refused={asked.problem}>
        <Processes address={address} all={processes} />
      </Scope>
      <div class="bar views" role="tablist" aria-label={say("memory.shown")}>
        {TABS.map(([name, title]) => (
          <button
            key={name}
            type="button"
            class="tab"
            role="tab"
            aria-selected={tab === name}
            onClick={() => go(address.with({ tab: name, sort: "", sel: "" }))}
          >
            {say(title)} <span class="dim3">{counts[name] !== undefined && grouped(counts[name])}</span>
          </button>
        ))}
        <span class="dim about">{tab === "objects" && sources.map((key) => say(`memory.${key}`)).join("; ")}</span>
      </div>
      <Said problem={asked.problem} messages={asked.answer?.messages} />
      <Progress what={say(`memory.${tab}`)} {...asked} />
      <div class="body">
        <div class="scroll grow" aria-busy={asked.isAsking} role="tabpanel">
          {tab === "gc" && <CollectionChart rows={collections} />}
          {counts[tab] === 0 && !asked.isAsking ? <p class="empty">{nothing[tab]}</p> : lists[tab]}
        </div>
        {panes[tab] && (
          <Pane label={say("details")} close={() => choose(-1)}>
            <p class="row shut">
              <span class="grow" />
              <button type="button" class="btn icon" onClick={() => choose(-1)} aria-label={say("close")}>
                <Icon name="close" />
              </button>
            </p>
            {panes[tab]}
          </Pane>
        )}
      </div>
    </main>
  );
}
