/* What all pages of the app have around them. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { switchTheme } from "../shared/theme";
import { Address, go, refresh } from "./address";
import { type Answer, Problem, read } from "./api";
import { Icon } from "./icons";
import { isLocalTime, switchZone } from "./times";

/** What of the address goes on from page to page. */
const SHARED = ["svc", "capture", "q", "from", "to"] as const;

/** The pages, with what of the address each goes on with. */
const PAGES = [
  ["/", "Now", []],
  ["/calls", "Calls", SHARED],
  ["/profiles", "Profiles", SHARED],
  ["/timeline", "Timeline", SHARED],
  ["/memory", "Memory & locks", SHARED],
  ["/draw?view=report", "Report", SHARED],
  ["/captures", "Captures", []],
] as const;

/** A link within the app. */
export function Link(props: {
  to: string;
  children: ComponentChildren;
  class?: string;
  current?: boolean;
}): JSX.Element {
  const press = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(props.to);
  };
  return (
    <a href={props.to} onClick={press} class={props.class} aria-current={props.current ? "page" : undefined}>
      {props.children}
    </a>
  );
}

/** The bar above every page. */
export function Top({ address }: { address: Address }): JSX.Element {
  const here = (to: string) => {
    const [path, query] = to.split("?");
    const view = new URLSearchParams(query).get("view");
    const at = address.page.startsWith("/call/") ? "/calls" : address.page;
    return at === path && (!view || address.of("view") === view);
  };
  const to = (page: string, kept: readonly string[]) => {
    const [path, query] = page.split("?");
    const next = new Address(path!, new URLSearchParams(query));
    for (const name of kept) for (const value of address.query.getAll(name)) next.query.append(name, value);
    return next.with({});
  };
  return (
    <header class="top">
      <Link to="/" class="mark">
        traceloom
      </Link>
      <nav class="nav" aria-label="Pages">
        {PAGES.map(([page, name, kept]) => (
          <Link key={page} to={to(page, kept)} current={here(page)}>
            {name}
          </Link>
        ))}
      </nav>
      <span class="grow" />
      <button
        type="button"
        class="btn desk"
        title={isLocalTime() ? "Times are of your zone" : "Times are UTC"}
        onClick={() => {
          switchZone();
          refresh();
        }}
      >
        {isLocalTime() ? "Local" : "UTC"}
      </button>
      <button type="button" class="btn icon" onClick={switchTheme} aria-label="Light or dark">
        <Icon name="theme" />
      </button>
    </header>
  );
}

/** What a question came to so far. */
export interface Asked<A> {
  answer: A | undefined;
  problem: Problem | undefined;
  isAsking: boolean;
  /** The question that the answer is to. */
  question: string | undefined;
}

/** Asks the collector whenever the question changes; the last answer stays until the next is there. */
export function useRead<A>(question: string | undefined): Asked<A> {
  const nothing = { answer: undefined, problem: undefined, isAsking: question !== undefined, question: undefined };
  const [asked, setAsked] = useState<Asked<A>>(nothing);
  useEffect(() => {
    if (question === undefined) {
      setAsked(nothing);
      return;
    }
    const control = new AbortController();
    setAsked((last) => ({ ...last, isAsking: true }));
    read<A>(question, control.signal).then(
      (answer) => setAsked({ answer, problem: undefined, isAsking: false, question }),
      (error) => {
        if (control.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem("The collector does not answer.", null);
        setAsked((last) => ({ ...last, problem, isAsking: false }));
      },
    );
    return () => control.abort();
  }, [question]);
  return asked;
}

/** Asks for rows. */
export const useAnswer = <R,>(question: string | undefined): Asked<Answer<R>> => useRead<Answer<R>>(question);

/** What is wrong, or was said, a line each. */
export function Said({
  problem,
  messages,
}: {
  problem?: Problem | undefined;
  messages?: string[] | undefined;
}): JSX.Element {
  return (
    <div aria-live="polite">
      {problem && (
        <p class="note bad">
          <b>Not answered</b> {problem.message}
        </p>
      )}
      {(messages ?? []).map((message) => (
        <p class="note" key={message}>
          {message}
        </p>
      ))}
    </div>
  );
}

/** A command that can be copied. */
export function Copied({ command }: { command: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const press = async () => {
    const { copy } = await import("../shared/dom");
    setDone(await copy(command));
  };
  return (
    <div class="cmd">
      <code>{command}</code>
      <button type="button" class="btn" onClick={press}>
        {done ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
