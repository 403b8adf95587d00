/* The details beside a list: a column, a sheet from the right, or on a phone one from below, which shows its title until it is pulled up. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { say } from "./language";

export function Pane(props: { label: string; isBroad?: boolean; children: ComponentChildren }): JSX.Element {
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
