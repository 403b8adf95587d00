/* The menu of what is selected. */
import { named } from "./dom";

export interface Choice {
  text: string;
  key: string;
  run: () => void;
  off?: boolean;
}

/** Milliseconds of a long press, and pixels that a finger may move meanwhile. */
const LONG = 500;
const STILL = 8;

/** Runs `open` for the right button and for a long press; returns true from it where there is a menu. */
export function onMenu(place: HTMLElement, open: (event: MouseEvent) => boolean): void {
  let waiting = 0;
  let from: PointerEvent | null = null;
  const stop = () => {
    clearTimeout(waiting);
    from = null;
  };
  const swallow = (event: Event) => event.stopPropagation();
  place.addEventListener("contextmenu", (event) => {
    stop();
    if (open(event)) event.preventDefault();
  });
  // Not every browser makes a context menu of a long press.
  place.addEventListener("pointerdown", (event) => {
    stop();
    if (event.pointerType !== "touch" || !event.isPrimary) return;
    from = event;
    waiting = window.setTimeout(() => {
      // Lifting the finger is no press.
      if (open(event)) addEventListener("click", swallow, { capture: true, once: true });
    }, LONG);
  });
  place.addEventListener("pointermove", (event) => {
    if (from && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) > STILL) stop();
  });
  for (const end of ["pointerup", "pointercancel"] as const) place.addEventListener(end, stop);
}

/** Returns true for the keys that open a menu: the menu key, and Shift with F10. */
export const isMenuKey = (event: KeyboardEvent): boolean =>
  event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);

/** Opens a menu at a point of the window; arrows move, Enter chooses, Escape closes. */
export function openMenu(menu: HTMLElement, x: number, y: number, choices: readonly Choice[]): void {
  const focus = document.activeElement;
  const close = () => {
    menu.hidden = true;
    removeEventListener("pointerdown", outside, true);
    if (focus instanceof HTMLElement) focus.focus({ preventScroll: true });
  };
  const outside = (event: Event) => {
    if (!menu.contains(event.target as Node)) close();
  };
  const buttons = choices.map(({ text, key, run, off }) => {
    const button = named("button", text);
    button.type = "button";
    button.role = "menuitem";
    button.disabled = off ?? false;
    if (key) button.append(named("kbd", key));
    button.onclick = () => {
      close();
      run();
    };
    return button;
  });
  menu.replaceChildren(...buttons);
  menu.hidden = false;
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4))}px`;
  menu.onkeydown = (event) => {
    event.stopPropagation();
    const usable = buttons.filter((button) => !button.disabled);
    const at = usable.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "ArrowDown") usable[(at + 1) % usable.length].focus();
    else if (event.key === "ArrowUp") usable[(at + usable.length - 1) % usable.length].focus();
    else return;
    event.preventDefault();
  };
  addEventListener("pointerdown", outside, true);
  buttons[0].focus();
}
