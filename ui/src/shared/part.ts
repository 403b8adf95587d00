import { amount } from "./amount";
import { numbers } from "./numbers";
import { startTheme } from "./theme";
import { startZone } from "./zone";

declare global {
  /** What tests and measurements read a page with. */
  var traceloom: { amount: typeof amount; numbers: typeof numbers };
}

/** Starts a page: what it needs whatever stands in it. */
export function startPage(): void {
  globalThis.traceloom = { amount, numbers };
  startTheme();
  startZone();
}

/** Starts every part of this kind; its data lies in its own script element. */
export function startParts<Data>(kind: string, start: (part: HTMLElement, data: Data) => void): void {
  for (const part of document.querySelectorAll<HTMLElement>(`[data-part="${kind}"]`)) {
    const held = part.querySelector(":scope > script[type='application/json']");
    start(part, JSON.parse(held?.textContent ?? "null"));
  }
  // The mark tells measurements when the browser has drawn them.
  requestAnimationFrame(() => setTimeout(() => performance.mark(`${kind} drawn`)));
}
