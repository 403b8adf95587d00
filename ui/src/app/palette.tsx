/* Ctrl K: pages, services, queries that were asked, calls by their id. And `?`: the keys. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "./address";
import { EVERY, type Service } from "./api";
import { useAnswer } from "./frame";

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
  kind: string;
  to: string;
}

const PAGES: readonly Place[] = [
  { name: "Now", kind: "page", to: "/" },
  { name: "Calls", kind: "page", to: "/calls" },
  { name: "Slowest calls", kind: "page", to: "/calls?sort=-duration" },
  { name: "Failed calls", kind: "page", to: `/calls?q=${encodeURIComponent("error = true")}` },
  { name: "Profiles", kind: "page", to: "/profiles" },
  { name: "Timeline", kind: "page", to: "/timeline" },
  { name: "Memory & locks", kind: "page", to: "/memory" },
  { name: "Report", kind: "page", to: "/draw?view=report" },
  { name: "Captures", kind: "page", to: "/captures" },
  { name: "Settings", kind: "page", to: "/settings" },
];

/** Places whose name has every word; ids of calls, traces and captures lead to these. */
export function places(words: string, services: readonly string[], asked: readonly string[]): Place[] {
  const text = words.trim();
  const found: Place[] = [];
  const [, capture, call] = /^(\d+-\d+)[: /](\d+\.\d+\.\d+|#\d+)$/.exec(text) ?? [];
  if (capture && call) found.push({ name: text, kind: "call", to: `/call/${capture}/${encodeURIComponent(call)}` });
  if (/^[0-9a-f]{32}$/i.test(text))
    found.push({ name: text, kind: "trace", to: `/call/${EVERY}/${text.toLowerCase()}?view=trace` });
  if (/^\d+-\d+$/.test(text)) found.push({ name: text, kind: "capture", to: `/captures/${text}` });
  const all: Place[] = [
    ...PAGES,
    ...services.map((name) => ({ name, kind: "service", to: `/calls?svc=${encodeURIComponent(name)}` })),
    ...asked.map((q) => ({ name: q, kind: "query", to: `/calls?q=${encodeURIComponent(q)}` })),
  ];
  const wanted = text.toLowerCase().split(/\s+/);
  found.push(...all.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word))));
  if (text && !found.length)
    found.push({ name: text, kind: "find in calls", to: `/calls?q=${encodeURIComponent(text)}` });
  return found.slice(0, 14);
}

/** The palette. */
export function Palette({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const { answer } = useAnswer<Service>("services");
  const names = [...new Set((answer?.rows ?? []).map(({ service }) => service))].filter(Boolean);
  const list = places(words, names, queries());
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
    <dialog ref={dialog} class="dialog palette" aria-label="Go to" onCancel={close} onClose={close}>
      <input
        class="q"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="places"
        aria-activedescendant={list[at] ? `place-${at}` : undefined}
        placeholder="page, service, query, CAPTURE:CALL, trace"
        autocomplete="off"
        spellcheck={false}
        value={words}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      <div id="places" role="listbox" aria-label="Places">
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
            <span class="dim3 sm">{place.kind}</span>
          </div>
        ))}
      </div>
    </dialog>
  );
}

const KEYS: readonly (readonly [key: string, what: string])[] = [
  ["/", "find"],
  ["Ctrl K", "go to a page, service, query or call"],
  ["g, then n c p t m a s", "Now, Calls, Profiles, Timeline, Memory & locks, Captures, Settings"],
  ["j k", "next and previous row; Enter opens it"],
  ["→ ← *", "in a tree: open, close, open all below"],
  ["e", "export a list of calls"],
  ["t", "light or dark"],
  ["z", "UTC or your zone"],
  ["Esc", "close the nearest thing"],
  ["Alt ← →", "back and forward"],
  ["?", "these keys"],
];

/** The keys. */
export function Keys({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-label="Keys" onCancel={close} onClose={close}>
      <h2 class="h">Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="dim sm">Flame graphs and timelines have keys of their own, which their ? shows.</p>
      <form method="dialog">
        <button type="submit" class="btn line">
          Close
        </button>
      </form>
    </dialog>
  );
}
