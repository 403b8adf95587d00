/* The details beside a list: a column, a sheet from the right, or on a phone one from below, which shows its title until it is pulled up. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { say } from "./language";

/** Closes something on Escape, unless what has the focus takes that key itself. */
export function useEscape(close: () => void): void {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      const isTaken = event.defaultPrevented || target.closest("input, select, textarea, dialog, [data-part]");
      if (event.key === "Escape" && !isTaken && !event.ctrlKey && !event.metaKey && !event.altKey) close();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [close]);
}

export function Pane(props: {
  label: string;
  isBroad?: boolean;
  close: () => void;
  children: ComponentChildren;
}): JSX.Element {
  useEscape(props.close);
  const [isUp, setUp] = useState(false);
  const kinds = ["pane", props.isBroad && "broad", isUp && "up"];
  return (
    <aside class={kinds.filter(Boolean).join(" ")} aria-label={props.label}>
      <button
        type="button"
        class="grip"
        aria-expanded={isUp}
        aria-label={say(isUp ? "pane.down" : "pane.up")}
        onClick={() => setUp(!isUp)}
      />
      {props.children}
    </aside>
  );
}
