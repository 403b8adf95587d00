/* A button with something that opens below it. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Opens what is in it below a button; Escape and a press elsewhere close it. */
export function Popover(props: {
  label: ComponentChildren;
  name?: string;
  kind: string;
  /** A class of the whole, by which it is found. */
  place?: string;
  children: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const press = (event: Event) => {
      if (!whole.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", press);
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopImmediatePropagation();
      close();
    };
    addEventListener("keydown", key, { capture: true });
    return () => {
      removeEventListener("pointerdown", press);
      removeEventListener("keydown", key, { capture: true });
    };
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div class={`popover ${props.place ?? ""}`} ref={whole}>
      <button
        ref={button}
        type="button"
        class={props.kind}
        aria-expanded={isOpen}
        aria-label={props.name}
        onClick={() => setOpen(!isOpen)}
      >
        {props.label}
      </button>
      {isOpen && <div class="float">{props.children(close)}</div>}
    </div>
  );
}
