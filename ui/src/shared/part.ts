import { amount } from "./amount";
import { copy, named } from "./dom";
import { numbers } from "./numbers";
import { isPrinting, onRedraw, startTheme, switchTheme } from "./theme";
import { toast } from "./toast";
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
  startHead();
  startPrinted();
}

/** On paper the address is said once: where the page came from, and the file's name and what is seen of it. */
function startPrinted(): void {
  const line = named("p", "", "printed");
  document.querySelector("header.page")?.append(line);
  onRedraw(() => {
    if (isPrinting()) line.textContent = printed(location);
  });
}

/** An address as paper says it: of a file its name alone, because folders are those of whoever prints. */
export function printed({ protocol, href, pathname, hash }: Location): string {
  const text = protocol === "file:" ? `${pathname.split("/").at(-1)}${hash}` : href;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** Starts what the head of a page has besides its theme: a link to what is seen, and the keys. */
function startHead(): void {
  const head = document.querySelector("header.page");
  const link = head?.querySelector<HTMLButtonElement>(".copy-link");
  if (link) link.onclick = async () => toast((await copy(location.href)) ? "Link copied" : location.href);
  const help = head?.querySelector<HTMLButtonElement>(".help");
  const keys = document.querySelector<HTMLElement>(".page-keys");
  if (!help) return;
  // A page of one part has the keys of that; a longer one its own, and each part those it has.
  const ofPart = () => document.querySelector<HTMLButtonElement>("[data-part] .help")?.click();
  const turn = () => {
    if (!keys) return ofPart();
    keys.hidden = !keys.hidden;
    help.setAttribute("aria-expanded", String(!keys.hidden));
  };
  help.onclick = turn;
  if (!keys) return;
  addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    const isElsewhere = target.closest("[data-part], input, select") || event.ctrlKey || event.metaKey || event.altKey;
    if (isElsewhere) return;
    if (event.key === "?" || (event.key === "Escape" && !keys.hidden)) turn();
    else if (event.key === "t") switchTheme();
  });
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
