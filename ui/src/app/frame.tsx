/* What all pages of the app have around them. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { switchTheme } from "../shared/theme";
import { Address, go } from "./address";
import { type Answer, ask, Problem } from "./api";

/** The pages, with what of the address each goes on with. */
const PAGES = [
  ["/", "Now", []],
  ["/calls", "Calls", ["svc", "capture", "q"]],
  ["/draw?view=flame", "Profiles", ["svc", "capture", "q"]],
  ["/draw?view=timeline", "Timeline", ["svc", "capture", "q"]],
  ["/draw?view=report", "Report", ["svc", "capture", "q"]],
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
    return address.page === path && (!view || address.of("view") === view);
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
      <span class="dim3 desk">UTC</span>
      <button type="button" class="btn" onClick={switchTheme} aria-label="Light or dark">
        ◐
      </button>
    </header>
  );
}

/** What a question came to so far. */
export interface Asked<R> {
  answer: Answer<R> | undefined;
  problem: Problem | undefined;
  isAsking: boolean;
}

/** Asks the collector whenever the question changes; the last answer stays until the next is there. */
export function useAnswer<R>(question: string | undefined): Asked<R> {
  const [asked, setAsked] = useState<Asked<R>>({ answer: undefined, problem: undefined, isAsking: true });
  useEffect(() => {
    if (question === undefined) {
      setAsked({ answer: undefined, problem: undefined, isAsking: false });
      return;
    }
    const control = new AbortController();
    setAsked((last) => ({ ...last, isAsking: true }));
    ask<R>(question, control.signal).then(
      (answer) => setAsked({ answer, problem: undefined, isAsking: false }),
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
