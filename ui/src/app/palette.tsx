/* Ctrl K: pages, services, queries that were asked, calls by their id. And `?`: the keys. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "./address";
import { EVERY, type Service } from "./api";
import { type NamedFilter, ownFilters } from "./filters";
import { useAnswer, useRead } from "./frame";
import { type Plain, say } from "./language";

const QUERIES = "traceloom.queries";
const MOST = 10;

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
  kind: "page" | "call" | "trace" | "capture" | "service" | "filter" | "query" | "find";
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
    ...services.map((name) => ({ name, kind: "service" as const, to: `/calls?svc=${encodeURIComponent(name)}` })),
    ...filters.map(({ name, filter: q }) => ({
      name,
      kind: "filter" as const,
      to: `/calls?q=${encodeURIComponent(q)}`,
    })),
    ...asked.map((q) => ({ name: q, kind: "query" as const, to: `/calls?q=${encodeURIComponent(q)}` })),
  ];
  const wanted = text.toLowerCase().split(/\s+/);
  found.push(...all.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word))));
  if (text && !found.length) found.push({ name: text, kind: "find", to: `/calls?q=${encodeURIComponent(text)}` });
  return found.slice(0, 14);
}

/** The palette. */
export function Palette({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const { answer } = useAnswer<Service>("services");
  const { answer: settings } = useRead<{ shown: { filters: NamedFilter[] } }>("settings");
  const names = [...new Set((answer?.rows ?? []).map(({ service }) => service))].filter(Boolean);
  const list = places(words, names, queries(), [...(settings?.shown.filters ?? []), ...ownFilters()]);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const take = (place: Place | undefined, isApart: boolean) => {
    if (!place) return;
    close();
    if (isApart) open(place.to, "_blank", "noopener");
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
