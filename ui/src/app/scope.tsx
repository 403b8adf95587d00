/* The bar that Calls, Profiles and Timeline share: the service, the time, the filter. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { type Address, go } from "./address";
import type { Problem, Service } from "./api";
import type { Vocabulary } from "./filter";
import { FilterField } from "./filter_field";
import { useAnswer } from "./frame";
import { Icon } from "./icons";
import { say } from "./language";
import { Popover } from "./popover";
import { serviceKeys, serviceTitle } from "./services";
import { bound, boundNs, rangeText } from "./times";

/** What of the address is the query, the same for all pages that share the bar. */
export const SCOPE = ["q", "svc", "capture", "version", "from", "to", "budget"] as const;

/** The query of the address as the API takes it. */
export function scopeOf(address: Address, more: Record<string, string> = {}): string {
  const asked = new URLSearchParams(address.asked(SCOPE, more));
  for (const name of ["from", "to"]) {
    const text = asked.get(name);
    if (text) asked.set(name, bound(text));
  }
  return asked.toString();
}

/** Ranges that a press chooses. */
const QUICK = [
  ["-15min", "15 min"],
  ["-1h", "1 h"],
  ["-6h", "6 h"],
  ["-24h", "24 h"],
  ["-7d", "7 d"],
  ["", ""],
] as const;

function Times({ address, close }: { address: Address; close: () => void }): JSX.Element {
  const [from, setFrom] = useState(address.of("from"));
  const [to, setTo] = useState(address.of("to"));
  const choose = (from: string, to: string) => {
    close();
    go(address.with({ from, to, sel: "" }));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    choose(from.trim(), to.trim());
  };
  return (
    <form class="times" onSubmit={submit}>
      <div class="row">
        {QUICK.map(([text, name]) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={address.of("from") === text && !address.of("to")}
            onClick={() => choose(text, "")}
          >
            {name || say("all")}
          </button>
        ))}
      </div>
      <label>
        <span class="dim3">{say("range.from")}</span>
        <input
          value={from}
          placeholder={say("range.example")}
          onInput={(event) => setFrom(event.currentTarget.value)}
        />
      </label>
      <label>
        <span class="dim3">{say("range.to")}</span>
        <input value={to} placeholder={say("range.end")} onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <button type="submit" class="btn line">
        {say("choose")}
      </button>
    </form>
  );
}

/** A range moved by its own length. */
export function stepped(from: string, to: string, step: 1 | -1): { from: string; to: string } | undefined {
  const [first, last] = [boundNs(from), to ? boundNs(to) : boundNs("-0s")];
  if (!from || first === undefined || last === undefined || last <= first) return undefined;
  const by = (last - first) * step;
  const text = (ns: number) => new Date(ns / 1e6).toISOString();
  return { from: text(first + by), to: text(last + by) };
}

/** The bar. */
export function Scope(props: {
  address: Address;
  vocabulary: Vocabulary;
  found: string;
  refused: Problem | undefined;
  children?: ComponentChildren;
}): JSX.Element {
  const { address } = props;
  const { answer } = useAnswer<Service>("services");
  const service = address.of("svc");
  const names = new Set(serviceKeys(answer?.rows ?? []));
  if (service) names.add(service);
  const [from, to] = [address.of("from"), address.of("to")];
  const list = (name: string) => address.query.getAll(name).filter(Boolean).join(", ");
  const [capture, version] = [list("capture"), list("version")];
  const chosen = [
    ["capture", capture && say("capture.of", { capture })],
    ["version", version && say("version.of", { version })],
  ] as const;
  const move = (step: 1 | -1) => {
    const range = stepped(from, to, step);
    return (
      range && (
        <button
          type="button"
          class="btn icon"
          aria-label={say(step < 0 ? "range.before" : "range.after")}
          onClick={() => go(address.with({ ...range, sel: "" }))}
        >
          <Icon name={step < 0 ? "back" : "right"} />
        </button>
      )
    );
  };
  return (
    <search class="bar rule scope">
      <label class="select">
        <span class="dim3">{say("service")}</span>
        <select value={service} onChange={(event) => go(address.with({ svc: event.currentTarget.value, sel: "" }))}>
          <option value="">{say("all")}</option>
          {[...names].sort().map((name) => (
            <option key={name} value={name}>
              {serviceTitle(name)}
            </option>
          ))}
        </select>
      </label>
      {chosen.map(
        ([name, text]) =>
          text && (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed="true"
              onClick={() => go(address.with({ [name]: "", sel: "" }))}
            >
              {text} <Icon name="close" />
            </button>
          ),
      )}
      {move(-1)}
      <Popover
        kind="select"
        label={
          <>
            <span class="dim3">{say("time")}</span> {rangeText(from, to)} <Icon name="down" />
          </>
        }
      >
        {(close) => <Times address={address} close={close} />}
      </Popover>
      {move(1)}
      <FilterField address={address} vocabulary={props.vocabulary} found={props.found} refused={props.refused} />
      {props.children}
    </search>
  );
}
