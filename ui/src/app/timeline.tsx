/* The timeline: tracks of one process or several on one clock. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Held } from "../timeline/data";
import { bitsOf, startTimeline } from "../timeline/input";
import type { Address } from "./address";
import type { Problem } from "./api";
import { Said } from "./frame";
import { say } from "./language";
import { dataOf, fetchPart, Part } from "./part";
import { Scope, scopeOf } from "./scope";
import { useWords } from "./words";

/** Spans and events that come one by one with a page, and with each stretch of it. */
const ITEMS = 50_000;

/** The page. */
export function TimelinePage({ address }: { address: Address }): JSX.Element {
  const [said, setSaid] = useState<{ about: string; problem?: Problem | undefined }>({ about: "" });
  const items = address.of("items") || String(ITEMS);
  const path = `/view/timeline?${scopeOf(address, { items })}`;
  const start = (section: HTMLElement, life: AbortSignal) => {
    // What is seen is the last thing that was asked for.
    let last = new AbortController();
    const ask = async (from: bigint, to: bigint) => {
      last.abort();
      last = new AbortController();
      const query = new URLSearchParams(scopeOf(address));
      for (const [name, value] of Object.entries({ from, to, items })) query.set(name, String(value));
      const { section } = await fetchPart(`/view/timeline?${query}`, AbortSignal.any([last.signal, life]));
      return { held: dataOf<Held>(section), bits: bitsOf(section) };
    };
    startTimeline(section, dataOf(section), life, ask);
  };
  return (
    <main class="app">
      <h1 class="vh">{say("page.timeline")}</h1>
      <Scope address={address} vocabulary={useWords()} found={said.about} refused={said.problem} />
      <Said problem={said.problem} />
      <Part key={path} path={path} start={start} came={(about, problem) => setSaid({ about, problem })} />
    </main>
  );
}
