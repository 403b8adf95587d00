/* Profiles: what took the time of a service, when, alone or in comparison. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Held } from "../flame/data";
import { startFlame } from "../flame/input";
import { amount, type Scale } from "../shared/amount";
import { type Address, go } from "./address";
import type { Capture, Service } from "./api";
import { firstBase, versionsOf } from "./base";
import { Link, Said, useAnswer } from "./frame";
import { say, show } from "./language";
import { type Came, dataOf, Part } from "./part";
import { SCOPE, Scope, scopeOf } from "./scope";
import { isOfServices } from "./services";
import { Singles } from "./singles";
import { bound } from "./times";
import { sums, telling, type ValueSum, type ValuesOfPart } from "./values";
import { useWords } from "./words";

/** A value of the captures, and what it comes to. */
interface Measure {
  measure: string;
  unit: string;
  source: string;
  total: number;
}

/** What is compared with. */
const BASE = ["base", "base_version", "base_from", "base_to"] as const;
const VIEWS = [
  ["", "profiles.all"],
  ["single", "profiles.single"],
  ["compare", "profiles.compare"],
] as const;

export const scaleOf = (unit: string): Scale => (unit === "ns" || unit === "bytes" ? unit : "count");

/** The stretch of time that is chosen in the graph's strip, where its times are dates. */
function chosenStretch(): { from: bigint; to: bigint } | null {
  const [from, to] = (new URLSearchParams(location.hash.slice(1)).get("w") ?? "").split("_");
  const isDate = (text: string | undefined) => text !== undefined && /^\d{18,19}$/.test(text);
  return isDate(from) && isDate(to) ? { from: BigInt(from), to: BigInt(to) } : null;
}

/** What a graph remembers that others cannot show: which value and recording by its number, how its table is sorted, its stretch. */
const OF_ONE_GRAPH = ["val", "so", "w"];

/** What the graph shows, as far as another one of the same functions shows it as well: what is zoomed, searched, hidden. */
function carried(): string {
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const key of OF_ONE_GRAPH) kept.delete(key);
  return kept.size ? `#${kept}` : "";
}

/** Says how much of everything a filter leaves: percentages do not change without a word. */
function Left({ address }: { address: Address }): JSX.Element | null {
  const [q, from, to] = ["q", "from", "to"].map((name) => address.of(name));
  const isLess = Boolean(q || from || to);
  const left = useAnswer<Measure>(isLess ? `profiles?${withValue(scopeOf(address), address)}` : undefined);
  const all = useAnswer<Measure>(
    isLess ? `profiles?${address.asked(["svc", "capture", "version", "value", "budget"])}` : undefined,
  );
  if (!isLess || !left.answer || !all.answer) return null;
  const key = (row: Measure) => `${row.measure} ${row.source}`;
  const whole = new Map(all.answer.rows.map((row) => [key(row), row.total]));
  const said = left.answer.rows.map((row) => {
    const text = (value: number) => amount(scaleOf(row.unit), value, row.unit === "count" ? "" : row.unit);
    const { measure, source } = row;
    // Of parts that a budget cuts, one is not in the other.
    if (left.answer?.partial || all.answer?.partial)
      return say("profiles.left.part", { measure, source, left: text(row.total) });
    const of = whole.get(key(row)) ?? row.total;
    return say("profiles.left.one", { measure, source, left: text(row.total), all: text(of) });
  });
  if (!said.length) return null;
  return (
    <p class="left">
      {say("profiles.left", { values: said.slice(0, 3).join("; ") })}
      {said.length > 3 && say("profiles.left.more", { values: said.length - 3 })}.
    </p>
  );
}

/** The values of the newest capture that the address chooses. */
function useValues(address: Address, captures: readonly Capture[]): ValueSum[] {
  const isOf = (name: string, value: string) => {
    const wanted = address.query.getAll(name).filter(Boolean);
    return !wanted.length || wanted.includes(value);
  };
  const newest = captures.findLast(
    (one) => isOf("capture", one.id) && isOfServices(address.query.getAll("svc"), one) && isOf("version", one.version),
  );
  const { answer } = useAnswer<ValuesOfPart>(newest && `captures/${encodeURIComponent(newest.id)}`);
  return sums(answer?.rows ?? []);
}

/** A choice of what is measured; of one value there is none. */
function Value(props: { address: Address; values: readonly ValueSum[]; none: string }): JSX.Element | null {
  const { address, values, none } = props;
  const chosen = address.of("value");
  if (values.length < 2 && !chosen) return null;
  const sum = ({ unit, total }: ValueSum) => amount(scaleOf(unit), total, unit === "count" ? "" : unit);
  return (
    <label class="select">
      <span class="dim3">{say("profiles.value")}</span>
      <select name="value" value={chosen} onChange={(event) => go(address.with({ value: event.currentTarget.value }))}>
        <option value="">{none}</option>
        {chosen && values.every(({ name }) => name !== chosen) && (
          <option value={chosen} lang="">
            {chosen}
          </option>
        )}
        {values.map((value) => (
          <option key={value.name} value={value.name} lang="">
            {value.name} · {sum(value)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Both sides of a comparison, and a way to each. */
function Sides(props: { address: Address; versions: readonly string[]; values: readonly ValueSum[] }): JSX.Element {
  const { address, versions, values } = props;
  const captures = useAnswer<Capture>("captures").answer?.rows ?? [];
  const submit = (event: Event) => {
    event.preventDefault();
    const texts = Array.from(new FormData(event.currentTarget as HTMLFormElement), ([name, text]) => [
      name,
      String(text),
    ]);
    go(address.with(Object.fromEntries(texts)));
  };
  const alone = { base: "", base_version: "", base_from: "", base_to: "", view: "" };
  const before = {
    ...alone,
    ...(address.of("base") && { capture: address.of("base"), svc: "", version: "" }),
    ...(address.of("base_version") && { version: address.of("base_version") }),
    ...((address.of("base_from") || address.of("base_to")) && {
      from: address.of("base_from"),
      to: address.of("base_to"),
    }),
  };
  const hint = say("profiles.above");
  const versionChoice = (name: "version" | "base_version", none: string) =>
    versions.length > 0 && (
      <label class="select">
        {say("profiles.version")}
        <select name={name} value={address.of(name)} onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          <option value="">{none}</option>
          {versions.toReversed().map((version) => (
            <option key={version} value={version}>
              {version}
            </option>
          ))}
        </select>
      </label>
    );
  return (
    <form class="bar sides" onSubmit={submit} key={[...SCOPE, ...BASE].map((name) => address.of(name)).join("\n")}>
      <b>{say("profiles.before")}</b>
      <label class="select">
        {say("capture")}
        <select name="base" value={address.of("base")} onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          <option value="">{hint}</option>
          {captures.toReversed().map((capture) => (
            <option key={capture.id} value={capture.id}>
              {capture.id} {capture.service || capture.instance}
            </option>
          ))}
        </select>
      </label>
      {versionChoice("base_version", hint)}
      <label class="field time">
        {say("profiles.from")}
        <input name="base_from" defaultValue={address.of("base_from")} placeholder={hint} />
      </label>
      <label class="field time">
        {say("profiles.to")}
        <input name="base_to" defaultValue={address.of("base_to")} placeholder={hint} />
      </label>
      {versions.length > 0 && <b>{say("profiles.after")}</b>}
      {versionChoice("version", say("all"))}
      <Value address={address} values={values} none={say("profiles.first")} />
      <button type="submit" class="btn">
        {say("profiles.compare")}
      </button>
      <span class="grow" />
      <Link to={() => address.with(before) + carried()}>{say("profiles.before.alone")}</Link>
      <Link to={() => address.with(alone) + carried()}>{say("profiles.after.alone")}</Link>
    </form>
  );
}

/** A query with the value that is chosen. */
function withValue(query: string, address: Address): string {
  const value = address.of("value");
  return value ? `${query}&value=${encodeURIComponent(value)}` : query;
}

/** What is compared with, as the API takes it. */
function compared(address: Address): string {
  const asked = new URLSearchParams(scopeOf(address));
  for (const name of [...BASE, "value"]) {
    const text = address.of(name);
    if (text) asked.set(name, name.startsWith("base_") ? bound(text) : text);
  }
  return asked.toString();
}

/** The page. */
export function ProfilesPage({ address }: { address: Address }): JSX.Element {
  const [said, setSaid] = useState<Came>({ about: "" });
  const captures = useAnswer<Capture>("captures");
  const services = useAnswer<Service>("services").answer?.rows ?? [];
  const versions = versionsOf(services, address.query.getAll("svc"));
  const view = VIEWS.find(([view]) => view === address.of("view"))?.[0] ?? "";
  const isCompared = BASE.some((name) => address.of(name));
  const turn = (to: string) => {
    const alone = { base: "", base_version: "", base_from: "", base_to: "" };
    if (to !== "compare") return go(address.with({ view: to, ...alone }) + carried());
    const base = isCompared
      ? {}
      : firstBase(chosenStretch(), address.of("capture"), captures.answer?.rows ?? [], versions);
    go(address.with({ view: to, ...base }) + carried());
  };
  const path =
    view === "compare" ? `/view/diff?${compared(address)}` : `/view/flame?${withValue(scopeOf(address), address)}`;
  const values = useValues(address, captures.answer?.rows ?? []);
  // The usual value of some profilers is zero almost everywhere, and another one is drawn: the address says which, also for comparisons.
  const [drawn, setDrawn] = useState({ path: "", value: "" });
  const other = drawn.path === path && !address.of("value") ? telling(values, drawn.value) : "";
  useEffect(() => {
    // What the graph shows is in the address too, and stays.
    if (other) go(address.with({ value: other }) + location.hash, true);
  }, [other]);
  const start = (section: HTMLElement, life: AbortSignal) => {
    const held = dataOf<Held[]>(section);
    startFlame(section, held, life);
    if (view === "") setDrawn({ path, value: held[0]?.value ?? "" });
  };
  const isDrawn = view === "" || (view === "compare" && isCompared);
  return (
    <main class={values.length > 1 || address.of("value") ? "app valued" : "app"}>
      <h1 class="vh">{say("page.profiles")}</h1>
      <Scope address={address} vocabulary={useWords()} found={isDrawn ? said.about : ""} refused={said.problem}>
        {view === "" && <Value address={address} values={values} none={say("profiles.usual")} />}
        <fieldset class="seg" aria-label={say("view")}>
          {VIEWS.map(([name, title]) => (
            <button key={name} type="button" aria-pressed={view === name} onClick={() => turn(name)}>
              {say(title)}
            </button>
          ))}
        </fieldset>
      </Scope>
      {view === "compare" && <Sides address={address} versions={versions} values={values} />}
      {isDrawn && <Left address={address} />}
      <Said
        problem={captures.problem ?? (isDrawn ? said.problem : undefined)}
        messages={isDrawn ? said.messages : undefined}
      />
      {view === "single" && <Singles address={address} captures={captures.answer?.rows ?? []} />}
      {isDrawn && (
        <Part
          key={path}
          path={path}
          what={say("page.profiles")}
          start={start}
          came={(about, problem, messages) => setSaid({ about, problem, messages })}
        />
      )}
      {view === "compare" && !isCompared && (
        <p class="empty">
          <b>{say("profiles.none")}</b>{" "}
          {show("profiles.none.how", {
            from: <code>2026-03-14T04:51:00Z</code>,
            to: <code>2026-03-14T04:52:00Z</code>,
          })}
        </p>
      )}
    </main>
  );
}
