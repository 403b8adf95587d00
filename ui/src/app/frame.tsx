/* What all pages of the app have around them. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { switchTheme } from "../shared/theme";
import { Address, go, refresh } from "./address";
import { type Answer, type PartialRead, Problem, read } from "./api";
import { Icon } from "./icons";
import { say } from "./language";
import { Keys, Palette, remember } from "./palette";
import { usePartial } from "./partial";
import { isLocalTime, switchZone } from "./times";
import { told, withoutDrawing } from "./told";

/** What of the address goes on from page to page. */
const SHARED = ["svc", "capture", "version", "q", "from", "to", "budget"] as const;

/** The pages, with what of the address each goes on with. */
const PAGES = [
  ["/", "page.now", []],
  ["/calls", "page.calls", SHARED],
  ["/profiles", "page.profiles", SHARED],
  ["/timeline", "page.timeline", SHARED],
  ["/memory", "page.memory", SHARED],
  ["/draw?view=report", "page.report", SHARED],
  ["/captures", "page.captures", []],
] as const;

/** The address of a page, with what of the one that is shown goes on. */
function pageFrom(address: Address, page: string, kept: readonly string[]): string {
  const [path, query] = page.split("?");
  const next = new Address(path!, new URLSearchParams(query));
  for (const name of kept) for (const value of address.query.getAll(name)) next.query.append(name, value);
  return next.with({});
}

/** A link within the app. */
export function Link(props: {
  /** Where to; of what depends on what a part remembers just then, how to find it. */
  to: string | (() => string);
  children: ComponentChildren;
  class?: string;
  current?: boolean;
}): JSX.Element {
  const { to } = props;
  const address = typeof to === "string" ? () => to : to;
  const press = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(address());
  };
  const renew = ({ currentTarget }: { currentTarget: HTMLAnchorElement }) => {
    currentTarget.href = address();
  };
  return (
    <a
      href={address()}
      onClick={press}
      onPointerEnter={renew}
      onFocus={renew}
      class={props.class}
      aria-current={props.current ? "page" : undefined}
    >
      {props.children}
    </a>
  );
}

const THEME = "traceloom.theme";

/** Takes the theme that was chosen last. */
export function startTheme(): void {
  const theme = localStorage.getItem(THEME);
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

function turnTheme(): void {
  switchTheme();
  localStorage.setItem(THEME, document.documentElement.dataset.theme ?? "");
}

function turnZone(): void {
  switchZone();
  refresh();
}

/** Pages by the key behind `g`. */
const GOES: Readonly<Record<string, string>> = {
  n: "/",
  c: "/calls",
  p: "/profiles",
  t: "/timeline",
  m: "/memory",
  a: "/captures",
  s: "/settings",
};

/** Goes to the row after or before the one that has the focus; at first to the one that is chosen, else to the first. */
function toRow(target: Element, step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main tr[tabindex]")];
  const at = rows.findIndex((row) => row.contains(target));
  const chosen = rows.find((row) => row.ariaSelected === "true") ?? rows[0];
  (at < 0 ? chosen : rows[at + step])?.focus();
}

/** Keys that every page has. */
function useKeys(open: (what: "" | "palette" | "keys") => void): void {
  useEffect(() => {
    let isGoing = false;
    const press = (event: KeyboardEvent) => {
      const { key } = event;
      const target = event.target instanceof Element ? event.target : document.body;
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
        event.preventDefault();
        open("palette");
        return;
      }
      if (event.defaultPrevented) return;
      // Fields take letters, parts of pages have keys of their own, and dialogs close by themselves.
      if (
        target.closest("input, select, textarea, dialog, [data-part]") ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey
      )
        return;
      const to = isGoing ? GOES[key] : undefined;
      isGoing = !isGoing && key === "g";
      if (to) go(pageFrom(Address.now(), to, PAGES.find(([page]) => page === to)?.[2] ?? []));
      else if (key === "?") open("keys");
      else if (key === "t") turnTheme();
      else if (key === "z") turnZone();
      else if (key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>("input.q, .field input")?.focus();
      } else if (key === "e") document.querySelector<HTMLButtonElement>(".export button")?.click();
      else if (key === "j" || key === "k") toRow(target, key === "j" ? 1 : -1);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** The bar above every page. */
export function Top({ address }: { address: Address }): JSX.Element {
  const here = (to: string) => {
    const [path, query] = to.split("?");
    const view = new URLSearchParams(query).get("view");
    const at = address.page.startsWith("/call/") ? "/calls" : address.page.replace(/^\/captures\/.*/, "/captures");
    return at === path && (!view || address.of("view") === view);
  };
  const [open, setOpen] = useState<"" | "palette" | "keys">("");
  useKeys(setOpen);
  useEffect(() => remember(address.of("q")), [address]);
  // The page that is open is in view, also where the list of pages scrolls.
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>("[aria-current]");
    if (nav.current && current) nav.current.scrollLeft = current.offsetLeft - nav.current.offsetLeft - 48;
  }, [address.page]);
  return (
    <header class="top">
      <Link to="/" class="mark">
        traceloom
      </Link>
      <nav ref={nav} class="nav" aria-label={say("top.pages")}>
        {PAGES.map(([page, name, kept]) => (
          <Link key={page} to={pageFrom(address, page, kept)} current={here(page)}>
            {say(name)}
          </Link>
        ))}
        <Link to="/settings" class="phone" current={address.page === "/settings"}>
          {say("page.settings")}
        </Link>
      </nav>
      <span class="grow desk" />
      <button type="button" class="btn line goto desk" onClick={() => setOpen("palette")}>
        <Icon name="search" /> {say("top.go")} <span class="grow" /> <kbd>Ctrl K</kbd>
      </button>
      <button
        type="button"
        class="btn desk"
        title={say(isLocalTime() ? "top.zone.local" : "top.zone.utc")}
        onClick={turnZone}
      >
        {isLocalTime() ? say("top.local") : "UTC"}
      </button>
      <button type="button" class="btn icon" onClick={turnTheme} aria-label={say("top.theme")}>
        <Icon name="theme" />
      </button>
      <Link to="/settings" class="btn desk" current={address.page === "/settings"}>
        {say("page.settings")}
      </Link>
      <button type="button" class="btn icon desk" aria-label={say("keys")} onClick={() => setOpen("keys")}>
        ?
      </button>
      {open === "palette" && <Palette close={() => setOpen("")} />}
      {open === "keys" && <Keys close={() => setOpen("")} />}
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
  /** It was taken back before there was an answer. */
  isStopped: boolean;
  /** Takes the question back. */
  stop: () => void;
  /** Asks it again. */
  resume: () => void;
}

/** Asks the collector whenever the question changes; the last answer stays until the next is there. */
export function useRead<A>(question: string | undefined): Asked<A> {
  const [round, setRound] = useState(0);
  const asking = useRef<AbortController>();
  const nothing: Asked<A> = {
    ...{ answer: undefined, problem: undefined, isAsking: question !== undefined, question: undefined },
    isStopped: false,
    stop: () => {
      asking.current?.abort();
      setAsked((last) => (last.isAsking ? { ...last, isAsking: false, isStopped: true } : last));
    },
    resume: () => setRound((round) => round + 1),
  };
  const [asked, setAsked] = useState<Asked<A>>(nothing);
  useEffect(() => {
    if (question === undefined) {
      setAsked(nothing);
      return;
    }
    const control = new AbortController();
    asking.current = control;
    setAsked((last) => ({ ...last, isAsking: true, isStopped: false }));
    read<A>(question, control.signal).then(
      (answer) => setAsked((last) => ({ ...last, answer, problem: undefined, isAsking: false, question })),
      (error) => {
        if (control.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(say("silent"), null);
        setAsked((last) => ({ ...last, problem, isAsking: false }));
      },
    );
    return () => control.abort();
  }, [question, round]);
  usePartial((asked.answer as { partial?: PartialRead } | undefined)?.partial);
  return asked;
}

/** Asks for rows. */
export const useAnswer = <R,>(question: string | undefined): Asked<Answer<R>> => useRead<Answer<R>>(question);

/** Why there is no answer; that there is nothing to draw is none that is wrong. */
function Refused({ text }: { text: string }): JSX.Element {
  const why = withoutDrawing(text);
  return why === undefined ? (
    <p class="note bad">
      <b>{say("refused")}</b> {text}
    </p>
  ) : (
    <p class="note plain">
      <b>{say("part.none")}</b> {why}
    </p>
  );
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
      {problem && <Refused text={told(problem.message).text} />}
      {(messages ?? []).map((message) => {
        const { text, to } = told(message);
        return (
          <p class="note" key={message}>
            {text}
            {to && (
              <>
                {" · "}
                <Link to={to}>{say("told.notes")}</Link>
              </>
            )}
          </p>
        );
      })}
    </div>
  );
}

/** Milliseconds from which on a question is one that is waited for. */
const LONG = 1000;

/** What is read, once it takes a while, with a way to leave it; and the way back to it. */
export function Progress(props: {
  what: string;
  isAsking: boolean;
  isStopped: boolean;
  stop: () => void;
  resume: () => void;
}): JSX.Element | null {
  const { isAsking } = props;
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (!isAsking) return;
    const timer = setTimeout(() => setLong(true), LONG);
    return () => clearTimeout(timer);
  }, [isAsking]);
  if (props.isStopped && !isAsking) {
    return (
      <p class="note">
        {say("read.stopped", { what: props.what })}{" "}
        <button type="button" class="btn" onClick={props.resume}>
          {say("read.again")}
        </button>
      </p>
    );
  }
  return isAsking && isLong ? (
    <p class="progress dim bar" role="status">
      <i class="moving" /> {say("read.of", { what: props.what })}{" "}
      <button type="button" class="btn" onClick={props.stop}>
        {say("cancel")}
      </button>
    </p>
  ) : null;
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
        {say(done ? "copied" : "copy")}
      </button>
    </div>
  );
}
