/* Parts of the pages that the program writes to files, in the app: their elements and data come with the page, the script is here. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { turnZone } from "../shared/zone";
import { type PartialRead, Problem } from "./api";
import { Progress } from "./frame";
import { say } from "./language";
import { usePartial } from "./partial";
import { isLocalTime } from "./times";
import { apart } from "./told";

/** A part as it came: its elements, and what the head of its page says. */
export interface Fetched {
  section: HTMLElement;
  about: string;
  /** Notes of what it is drawn from. */
  messages: string[];
  partial: PartialRead | undefined;
}

/** Asks the collector for the page that has a part, and takes the part out of it. */
export async function fetchPart(path: string, signal: AbortSignal): Promise<Fetched> {
  const response = await fetch(path, { signal });
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    const why = body.detail ?? body.title ?? say("answers", { status: String(response.status) });
    throw new Problem(String(why), body.column ?? null);
  }
  // The style of the page is here already, and a policy would refuse that of another document.
  const text = (await response.text()).replace(/<style>[\s\S]*?<\/style>/, "");
  const page = new DOMParser().parseFromString(text, "text/html");
  const section = page.querySelector<HTMLElement>("[data-part]");
  if (!section) throw new Problem(say("part.none"), null);
  const about = apart(page.querySelector(".about")?.textContent ?? "");
  const partial = JSON.parse(response.headers.get("traceloom-partial") ?? "null") ?? undefined;
  return { section: document.importNode(section, true), partial, ...about };
}

/** The data that a part brought with it. */
export const dataOf = <Data,>(section: Element): Data =>
  JSON.parse(section.querySelector(":scope > script[type='application/json']")?.textContent ?? "null");

/** Makes room for a line that says what was done, once. */
function makeToast(): void {
  if (document.querySelector("body > .toast")) return;
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.role = "status";
  toast.hidden = true;
  document.body.append(toast);
}

/** What was told of a part. */
export interface Came {
  about: string;
  problem?: Problem | undefined;
  messages?: string[] | undefined;
}

/** Shows the part of a page of the collector; `start` brings it to life, until another one takes its place. */
export function Part(props: {
  path: string;
  /** What it is, in a sentence about reading it. */
  what: string;
  /** It stands among other things, and does not fill the window. */
  isInside?: boolean | undefined;
  start: (section: HTMLElement, life: AbortSignal) => void;
  /** Told what the head of its page says, or why there is none. */
  came: (about: string, problem?: Problem, messages?: string[]) => void;
}): JSX.Element {
  const { path, isInside, start, came } = props;
  turnZone(isLocalTime());
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"asking" | "here" | "none" | "stopped">("asking");
  const [round, setRound] = useState(0);
  const [partial, setPartial] = useState<PartialRead>();
  usePartial(partial);
  const asking = useRef<AbortController>();
  useEffect(() => {
    const life = new AbortController();
    asking.current = life;
    setState("asking");
    fetchPart(path, life.signal).then(
      ({ section, about, messages, partial }) => {
        setPartial(partial);
        // Parts fill the room that they have, as in pages of their own.
        document.body.classList.toggle("whole", !isInside);
        makeToast();
        place.current?.replaceChildren(section);
        came(about, undefined, messages);
        setState("here");
        start(section, life.signal);
      },
      (error) => {
        if (life.signal.aborted) return;
        place.current?.replaceChildren();
        came("", error instanceof Problem ? error : new Problem(say("silent"), null));
        setState("none");
      },
    );
    return () => {
      life.abort();
      document.body.classList.remove("whole");
    };
  }, [path, round]);
  const stop = () => {
    asking.current?.abort();
    setState("stopped");
  };
  return (
    <>
      {state === "asking" && <p class="empty dim">{say("part.reading")}</p>}
      <Progress
        what={props.what}
        isAsking={state === "asking"}
        isStopped={state === "stopped"}
        stop={stop}
        resume={() => setRound(round + 1)}
      />
      <div class="fetched" ref={place} aria-busy={state === "asking"} hidden={state !== "here"} />
    </>
  );
}
