/* Times of a page: UTC, as it was mailed, or in the zone of whoever reads it. */

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z/g;

const two = (number: number): string => String(number).padStart(2, "0");

/** A text with its moments in the zone that is `offset` minutes before UTC at each; all digits of a second stay. */
export function inZone(text: string, offset: (at: Date) => number = (at) => at.getTimezoneOffset()): string {
  return text.replace(MOMENT, (_, seconds: string, fraction = "") => {
    const at = new Date(`${seconds}Z`);
    const before = offset(at);
    const local = new Date(at.getTime() - before * 60_000).toISOString().slice(0, 19);
    const far = Math.abs(before);
    return `${local}${fraction}${before > 0 ? "-" : "+"}${two(Math.floor(far / 60))}:${two(far % 60)}`;
  });
}

let isLocal = false;
const listeners = new Set<() => void>();

/** Returns true if times are in the reader's zone. */
export const isLocalZone = (): boolean => isLocal;

/** Runs `listener` whenever the zone of a page changes, until its part is taken away. */
export function onZone(listener: () => void, life?: AbortSignal): void {
  listeners.add(listener);
  life?.addEventListener("abort", () => listeners.delete(listener));
}

/** Turns all times to the reader's zone, or to UTC. */
export function turnZone(local: boolean): void {
  if (local === isLocal) return;
  isLocal = local;
  for (const listener of listeners) listener();
}

/** Starts the key `z`, which turns times from UTC to the reader's zone and back. */
export function startZone(): void {
  document.body.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key !== "z" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    turnZone(!isLocal);
  });
}

/** Turns the moments in these elements with the zone. */
export function turnTexts(elements: Iterable<Element>): void {
  const texts: [node: Text, utc: string][] = [];
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const utc = node.textContent ?? "";
      if (inZone(utc, () => 60) !== utc) texts.push([node as Text, utc]);
    }
  }
  onZone(() => {
    for (const [node, utc] of texts) node.textContent = isLocal ? inZone(utc) : utc;
  });
}

/** Turns the moments in the tooltips of these elements with the zone. */
export function turnTitles(elements: Iterable<HTMLElement>): void {
  const titles = Array.from(elements, (element) => [element, element.title] as const);
  onZone(() => {
    for (const [element, utc] of titles) element.title = isLocal ? inZone(utc) : utc;
  });
}
