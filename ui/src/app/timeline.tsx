/* The timeline: tracks of one process or several on one clock. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Held } from "../timeline/data";
import { bitsOf, startTimeline } from "../timeline/input";
import type { Address } from "./address";
import type { Capture, Problem } from "./api";
import { Link, Said, useAnswer } from "./frame";
import { say } from "./language";
import { type Came, dataOf, fetchPart, Part } from "./part";
import { Scope, scopeOf } from "./scope";
import { isOfServices } from "./services";
import { newest, type Stretch } from "./stretch";
import { moment } from "./times";
import { useWords } from "./words";

/** Spans and events that come one by one with a page, and with each stretch of it. */
const ITEMS = 50_000;

/** The tracks of a query; of a stretch that is looked at, all is asked for. */
export function Tracks(props: {
  query: string;
  items?: string;
  isInside?: boolean;
  came: (about: string, problem?: Problem, messages?: string[]) => void;
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
  return (
    <Part
      key={path()}
      path={path()}
      what={say("page.timeline")}
      isInside={props.isInside}
      start={start}
      came={props.came}
    />
  );
}

/** The stretch that the page begins with, unless the address chooses one; nothing until the captures are known. */
function useStretch(address: Address): { isKnown: boolean; stretch: Stretch | undefined } {
  const isChosen = ["from", "to", "all"].some((name) => address.of(name));
  const { answer, problem } = useAnswer<Capture>(isChosen ? undefined : "captures");
  const stretch = useMemo(() => {
    const isOf = (name: string, value: string) => {
      const wanted = address.query.getAll(name).filter(Boolean);
      return !wanted.length || wanted.includes(value);
    };
    const chosen = (answer?.rows ?? []).filter(
      (one) =>
        isOf("capture", one.id) && isOfServices(address.query.getAll("svc"), one) && isOf("version", one.version),
    );
    return newest(chosen);
  }, [answer, address]);
  return isChosen
    ? { isKnown: true, stretch: undefined }
    : { isKnown: answer !== undefined || problem !== undefined, stretch };
}

/** A moment as the API takes it: of a double, down to the microsecond. */
const bounds = ({ from, to }: Stretch): Record<string, string> => ({
  from: new Date(Math.floor(from / 1e6)).toISOString(),
  to: new Date(Math.floor(to / 1e6) + 1).toISOString(),
});

/** The page. */
export function TimelinePage({ address }: { address: Address }): JSX.Element {
  const { isKnown, stretch } = useStretch(address);
  const [said, setSaid] = useState<Came>({ about: "" });
  return (
    <main class="app">
      <h1 class="vh">{say("page.timeline")}</h1>
      <Scope address={address} vocabulary={useWords()} found={said.about} refused={said.problem} />
      <Said problem={said.problem} messages={said.messages} />
      {stretch && (
        <p class="note plain">
          {say("timeline.stretch", {
            from: moment(stretch.from),
            to: moment(stretch.to, stretch.from),
            captures: stretch.outside,
            first: moment(stretch.first),
          })}{" "}
          <Link to={address.with({ all: "1" })}>{say("timeline.all")}</Link>
        </p>
      )}
      {!isKnown && <p class="empty dim">{say("part.reading")}</p>}
      {isKnown && (
        <Tracks
          query={
            stretch
              ? String(
                  new URLSearchParams([...new URLSearchParams(scopeOf(address)), ...Object.entries(bounds(stretch))]),
                )
              : scopeOf(address)
          }
          {...(address.of("items") && { items: address.of("items") })}
          came={(about, problem, messages) => setSaid({ about, problem, messages })}
        />
      )}
    </main>
  );
}
