/* One line that says what was done, with one way back. */
import { button, named } from "./dom";

/** Milliseconds for which it stays, unless the pointer or the focus is on it. */
const STAY = 6000;

let leaving = 0;

/** Says what was done; `undo` takes it back. */
export function toast(text: string, undo?: () => void): void {
  const place = document.querySelector<HTMLElement>("body > .toast");
  if (!place) return;
  const close = () => {
    place.hidden = true;
  };
  const stay = () => clearTimeout(leaving);
  const leave = () => {
    stay();
    leaving = window.setTimeout(close, STAY);
  };
  const back = () => {
    close();
    undo?.();
  };
  place.replaceChildren(named("span", text), ...(undo ? [button("Undo", back)] : []));
  place.hidden = false;
  place.onpointerenter = place.onfocus = stay;
  place.onpointerleave = place.onblur = leave;
  leave();
}
