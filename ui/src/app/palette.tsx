/* Ctrl K: pages, services, functions, queries that were asked, calls by their id. And `?`: the keys. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Address, go } from "./address";
import { type Answer, EVERY, read, type Service } from "./api";
import { type NamedFilter, ownFilters } from "./filters";
import { useAnswer, useRead } from "./frame";
import { type Plain, say } from "./language";
import { SCOPE, scopeOf } from "./scope";
import { serviceKeys, serviceTitle } from "./services";

const QUERIES = "traceloom.queries";
const MOST = 10;
/** How long nobody types before functions are asked for, in milliseconds. */
const PAUSE = 250;
/** Bytes of captures whose functions are looked through: the newest that the page shows. */
const LOOKED = 256 * 2 ** 20;

/** Filters that were asked last, the newest first. */
export function queries(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(QUERIES) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** Remembers a filter. */
export function remember(query: string): void {
  if (!query) return;
  const all = [query, ...queries().filter((one) => one !== query)];
  localStorage.setItem(QUERIES, JSON.stringify(all.slice(0, MOST)));
}

/** Somewhere to go. */
export interface Place {
  name: string;
  kind: "page" | "call" | "trace" | "capture" | "service" | "function" | "filter" | "query" | "find";
  to: string;
}

const PAGES: readonly (readonly [name: Plain, to: string])[] = [
  ["page.now", "/"],
  ["page.calls", "/calls"],
  ["palette.slowest", "/calls?sort=-duration"],
  ["palette.failed", `/calls?q=${encodeURIComponent("error = true")}`],
  ["page.profiles", "/profiles"],
  ["page.timeline", "/timeline"],
  ["page.memory", "/memory"],
  ["page.report", "/draw?view=report"],
  ["page.captures", "/captures"],
  ["page.settings", "/settings"],
];

/** Places whose name has every word; ids of calls, traces and captures lead to these. */
export function places(
  words: string,
  services: readonly string[],
  asked: readonly string[],
  filters: readonly NamedFilter[] = [],
  functions: readonly string[] = [],
): Place[] {
  const text = words.trim();
  const found: Place[] = [];
  const [, capture, call] = /^(\d+-\d+)[: /](\d+\.\d+\.\d+|#\d+)$/.exec(text) ?? [];
  if (capture && call) found.push({ name: text, kind: "call", to: `/call/${capture}/${encodeURIComponent(call)}` });
  if (/^[0-9a-f]{32}$/i.test(text))
    found.push({ name: text, kind: "trace", to: `/call/${EVERY}/${text.toLowerCase()}?view=trace` });
  if (/^\d+-\d+$/.test(text)) found.push({ name: text, kind: "capture", to: `/captures/${text}` });
  const all: Place[] = [
    ...PAGES.map(([name, to]) => ({ name: say(name), kind: "page" as const, to })),
    ...services.map((key) => ({
      name: serviceTitle(key),
      kind: "service" as const,
      to: `/calls?svc=${encodeURIComponent(key)}`,
    })),
    ...filters.map(({ name, filter: q }) => ({
      name,
      kind: "filter" as const,
      to: `/calls?q=${encodeURIComponent(q)}`,
    })),
    ...asked.map((q) => ({ name: q, kind: "query" as const, to: `/calls?q=${encodeURIComponent(q)}` })),
    ...functions.map((name) => ({ name, kind: "function" as const, to: drawn(name) })),
  ];
  const wanted = text.toLowerCase().split(/\s+/);
  found.push(...all.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word))));
  if (text && !found.length) found.push({ name: text, kind: "find", to: `/calls?q=${encodeURIComponent(text)}` });
  return found.slice(0, 14);
}

/** The flame graph in which a function is marked: of what the page shows now. */
function drawn(name: string): string {
  const scope = Address.now().asked(SCOPE);
  return `/profiles${scope && `?${scope}`}#${new URLSearchParams({ s: name })}`;
}

/** Functions of what the page shows, the busiest first; none before two letters are typed. */
function useFunctions(words: string): string[] {
  const [names, setNames] = useState<string[]>();
  const asking = useRef<AbortController>();
  const isAsked = words.trim().length > 1;
  useEffect(() => {
    if (!isAsked || asking.current) return;
    const timer = setTimeout(() => {
      const control = new AbortController();
      asking.current = control;
      const question = `functions?${scopeOf(Address.now(), { n: "10000", budget: String(LOOKED) })}`;
      read<Answer<{ functions: { function: string }[] }>>(question, control.signal).then(
        ({ rows }) => setNames([...new Set(rows.flatMap(({ functions }) => functions.map((one) => one.function)))]),
        // The other places are there without them.
        () => undefined,
      );
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [words]);
  useEffect(() => () => asking.current?.abort(), []);
  return isAsked ? (names ?? []) : [];
}

/** The palette. */
export function Palette({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const { answer } = useAnswer<Service>("services");
  const { answer: settings } = useRead<{ shown: { filters: NamedFilter[] } }>("settings");
  const names = serviceKeys(answer?.rows ?? []);
  const filters = [...(settings?.shown.filters ?? []), ...ownFilters()];
  const list = places(words, names, queries(), filters, useFunctions(words));
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const take = (place: Place | undefined, isApart: boolean) => {
    if (!place) return;
    close();
    if (isApart) open(place.to, "_blank", "noopener");
    else if (place.kind === "function" && place.to.startsWith(`${location.pathname}${location.search}#`))
      // The same page: what is searched in it changes.
      location.hash = place.to.slice(place.to.indexOf("#"));
    else go(place.to);
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((at + step + list.length) % Math.max(list.length, 1));
    else if (event.key === "Enter") take(list[at], event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="dialog palette" aria-label={say("top.go")} onCancel={close} onClose={close}>
      <input
        class="q"
        role="combobox"
        aria-label={say("top.go")}
        aria-expanded="true"
        aria-controls="places"
        aria-activedescendant={list[at] ? `place-${at}` : undefined}
        placeholder={say("palette.what")}
        autocomplete="off"
        spellcheck={false}
        value={words}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      <div id="places" role="listbox" aria-label={say("palette.places")}>
        {list.map((place, number) => (
          <div
            key={`${place.kind} ${place.name}`}
            id={`place-${number}`}
            role="option"
            tabIndex={-1}
            class="option"
            aria-selected={number === at}
            onClick={(event) => take(place, event.ctrlKey || event.metaKey)}
            onKeyDown={() => undefined}
          >
            <span class="ell">{place.name}</span>
            <span class="dim3 sm">{say(`palette.${place.kind}`)}</span>
          </div>
        ))}
      </div>
    </dialog>
  );
}

const KEYS: readonly (readonly [key: string, what: Plain])[] = [
  ["/", "keys.find"],
  ["Ctrl K", "keys.go"],
  ["g  n c p t m a s", "keys.pages"],
  ["j k", "keys.rows"],
  ["→ ← *", "keys.tree"],
  ["e", "keys.export"],
  ["t", "keys.theme"],
  ["z", "keys.zone"],
  ["Esc", "keys.close"],
  ["Alt ← →", "keys.back"],
  ["?", "keys.these"],
];

/** The keys. */
export function Keys({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-label={say("keys")} onCancel={close} onClose={close}>
      <h2 class="h">{say("keys")}</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{say(what)}</dd>
          </div>
        ))}
      </dl>
      <p class="dim sm">{say("keys.parts")}</p>
      <form method="dialog">
        <button type="submit" class="btn line">
          {say("close")}
        </button>
      </form>
    </dialog>
  );
}
