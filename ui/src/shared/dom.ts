import { parts } from "./names";

/** Returns the element of a class within a part. */
export function by<E extends HTMLElement = HTMLElement>(part: Element, name: string): E {
  const found = part.querySelector<E>(`:scope .${name}`);
  if (!found) throw new Error(`no element .${name}`);
  return found;
}

/** Options of listeners that go when a part is taken away; those of a page of one file stay. */
export const until = (life?: AbortSignal): AddEventListenerOptions => (life ? { signal: life } : {});

/** Makes an element with a text. */
export function named<K extends keyof HTMLElementTagNameMap>(tag: K, text = "", kind = ""): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

/** Makes a button; `pressed` is given for one that stays down. */
export function button(text: string, press: () => void, pressed?: boolean): HTMLButtonElement {
  const element = named("button", text);
  element.type = "button";
  if (pressed !== undefined) element.setAttribute("aria-pressed", String(pressed));
  element.onclick = press;
  return element;
}

/** Moves the focus along elements, from one end on where none has it. */
export function stepFocus(elements: Iterable<HTMLElement>, step: 1 | -1): void {
  const all = [...elements];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step]?.focus();
}

/** Copies text, also where a page of a file may not use the clipboard. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not allowed: the old way.
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  const focus = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focus instanceof HTMLElement) focus.focus();
  return done;
}

/** The namespace of drawings: that of the icons in every page. */
const drawings = () => document.querySelector("svg")?.namespaceURI ?? null;

const draw = (name: string) => document.createElementNS(drawings(), name) as SVGElement;

/** Makes a bar of a cell: shares of its width, each with the class of its colour. */
export function cellBar(
  bars: readonly (readonly [from: number, width: number, kind: string])[],
  line?: number,
): SVGElement {
  const svg = draw("svg");
  svg.setAttribute("class", "cell");
  svg.setAttribute("viewBox", "0 0 100 10");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.ariaHidden = "true";
  for (const [from, width, kind] of bars) {
    if (!(width > 0)) continue;
    const rect = draw("rect");
    rect.setAttribute("x", String(from * 100));
    rect.setAttribute("width", String(Math.max(width * 100, 1)));
    rect.setAttribute("height", "10");
    if (kind) rect.setAttribute("class", kind);
    svg.append(rect);
  }
  if (line !== undefined) {
    const middle = draw("line");
    for (const [key, value] of Object.entries({ x1: line * 100, x2: line * 100, y1: 0, y2: 10 })) {
      middle.setAttribute(key, String(value));
    }
    svg.append(middle);
  }
  return svg;
}

/** A name as tables have it: the method, then what it belongs to; its title is all of it. */
export function nameOf(name: string): (string | HTMLElement)[] {
  const { method, owner } = parts(name);
  return owner ? [named("b", method), named("small", owner)] : [named("b", method)];
}
