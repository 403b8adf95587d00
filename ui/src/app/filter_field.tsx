/* The field of the filter: completion below it, errors at their column. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Address, go } from "./address";
import { Problem, read } from "./api";
import { type Completion, completions, type Vocabulary } from "./filter";
import { Icon } from "./icons";
import { say } from "./language";

/** Milliseconds without a key after which a text is checked. */
const PAUSE = 150;

/** What is wrong with a text that is being typed; what was wrong with an earlier one is no answer. */
function useCheck(text: string, applied: string): Problem | undefined {
  const [found, setFound] = useState<{ text: string; problem: Problem }>();
  useEffect(() => {
    if (!text.trim() || text === applied) return;
    const control = new AbortController();
    const check = async () => {
      try {
        await read(`query?q=${encodeURIComponent(text)}`, control.signal);
      } catch (error) {
        if (error instanceof Problem) setFound({ text, problem: error });
      }
    };
    const timer = setTimeout(() => void check(), PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, applied]);
  return found?.text === text && text !== applied ? found.problem : undefined;
}

/** The field. Enter asks what it says; until then the last filter stays. */
export function FilterField(props: {
  address: Address;
  vocabulary: Vocabulary;
  found: string;
  /** What the collector says of the filter that was asked. */
  refused: Problem | undefined;
}): JSX.Element {
  const applied = props.address.of("q");
  const [text, setText] = useState(applied);
  const [at, setAt] = useState(applied.length);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setText(applied);
    setOpen(false);
  }, [applied]);
  // What is no fault of the filter is told elsewhere on the page.
  const refused = props.refused?.column === null ? undefined : props.refused;
  const wrong = useCheck(text, applied) ?? (text === applied ? refused : undefined);
  const list = isOpen ? completions(text.slice(0, at), props.vocabulary) : [];

  // What the field holds counts: keys may come faster than the page draws.
  const apply = (asked: string) => {
    setOpen(false);
    if (wrong && asked === text) return;
    go(props.address.with({ q: asked.trim(), sel: "" }));
  };
  const take = (completion: Completion) => {
    const before = `${text.slice(0, completion.from)}${completion.text} `;
    const next = before + text.slice(at).trimStart();
    setText(next);
    setAt(before.length);
    setChosen(-1);
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(before.length, before.length);
    });
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && list.length) {
      event.preventDefault();
      setChosen((chosen + step + list.length + 1) % (list.length + 1));
    } else if (event.key === "Tab" && !event.shiftKey && list.length) {
      event.preventDefault();
      take(list[Math.min(Math.max(chosen, 0), list.length - 1)]!);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const completion = list[chosen];
      if (completion) take(completion);
      else apply((event.currentTarget as HTMLInputElement).value);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (isOpen && list.length) setOpen(false);
      else setText(applied);
    }
  };
  const typed = (event: Event) => {
    const field = event.currentTarget as HTMLInputElement;
    setText(field.value);
    setAt(field.selectionStart ?? field.value.length);
    setChosen(-1);
    setOpen(true);
  };
  const column = wrong?.column ?? null;
  return (
    <div class="filter grow">
      <label class={wrong ? "field err" : "field"}>
        <Icon name="search" />
        <span class="caret">
          <input
            ref={input}
            class="q"
            role="combobox"
            aria-label={say("filter")}
            aria-autocomplete="list"
            aria-expanded={list.length > 0}
            aria-controls="completions"
            aria-activedescendant={list[chosen] ? `completion-${chosen}` : undefined}
            aria-invalid={Boolean(wrong)}
            aria-describedby="filter-wrong"
            autocomplete="off"
            spellcheck={false}
            placeholder={say("filter.example")}
            value={text}
            onInput={typed}
            onKeyDown={key}
            onFocus={() => setOpen(true)}
            onBlur={() => setOpen(false)}
          />
          {column !== null && <i style={{ left: `${column - 1}ch` }}>^</i>}
        </span>
        <span class="cnt" aria-live="polite">
          {text.trim() === applied ? props.found : wrong ? "" : say("filter.enter")}
        </span>
      </label>
      <p id="filter-wrong" class="wrong sm" aria-live="polite">
        {wrong && (
          <>
            <span class="bad">
              {wrong.message}
              {column !== null && say("filter.column", { column })}
            </span>
            {text !== applied && (applied ? say("filter.still", { filter: applied }) : say("filter.still.all"))}
          </>
        )}
      </p>
      <div id="completions" class="float" role="listbox" aria-label={say("filter.goes")} hidden={!list.length}>
        {list.map((completion, number) => (
          <div
            key={completion.text}
            id={`completion-${number}`}
            role="option"
            tabIndex={-1}
            class="option"
            aria-selected={number === chosen}
            onPointerDown={(event) => {
              event.preventDefault();
              take(completion);
            }}
          >
            <code>{completion.text}</code>
            <span class="dim3">{say(`filter.${completion.kind}`)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
