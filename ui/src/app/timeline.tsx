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

/** The tracks of a query; of a stretch that is looked at, all is asked for. */
export function Tracks(props: {
  query: string;
  items?: string;
  isInside?: boolean;
  came: (about: string, problem?: Problem) => void;
}): JSX.Element {
  const { query, items = String(ITEMS) } = props;
  const path = (more: Record<string, string> = {}) => {
    const asked = new URLSearchParams(query);
    for (const [name, value] of Object.entries({ ...more, items })) asked.set(name, value);
    return `/view/timeline?${asked}`;
  };
  const start = (section: HTMLElement, life: AbortSignal) => {
    // What is seen is the last thing that was asked for.
    let last = new AbortController();
    const ask = async (from: bigint, to: bigint) => {
      last.abort();
      last = new AbortController();
      const stretch = path({ from: String(from), to: String(to) });
      const { section } = await fetchPart(stretch, AbortSignal.any([last.signal, life]));
      return { held: dataOf<Held>(section), bits: bitsOf(section) };
    };
    startTimeline(section, dataOf(section), life, ask);
  };
  return <Part key={path()} path={path()} isInside={props.isInside} start={start} came={props.came} />;
}

/** The page. */
export function TimelinePage({ address }: { address: Address }): JSX.Element {
  const [said, setSaid] = useState<{ about: string; problem?: Problem | undefined }>({ about: "" });
  return (
    <main class="app">
      <h1 class="vh">{say("page.timeline")}</h1>
      <Scope address={address} vocabulary={useWords()} found={said.about} refused={said.problem} />
      <Said problem={said.problem} />
      <Tracks
        query={scopeOf(address)}
        {...(address.of("items") && { items: address.of("items") })}
        came={(about, problem) => setSaid({ about, problem })}
      />
    </main>
  );
}
