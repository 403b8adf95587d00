import { Address } from "../shared/address";
import { stepFocus } from "../shared/dom";
import { turnTexts, turnTitles } from "../shared/zone";

/** Goes to the next or previous call. */
function toCall(step: 1 | -1): void {
  stepFocus(document.querySelectorAll<HTMLElement>("main td > details > summary"), step);
}

function onKey(event: KeyboardEvent): void {
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("[data-part], input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") toCall(1);
  else if (event.key === "k") toCall(-1);
  else if (event.key === "/") {
    event.preventDefault();
    document.querySelector<HTMLElement>(".flame .search")?.focus();
  }
}

/** Keeps in the address which calls are open, by their place in the page. */
function startOpen(): void {
  const address = new Address("");
  const all = [...document.querySelectorAll<HTMLDetailsElement>("main td > details")];
  const recall = () => {
    const open = new Set((address.get("open") ?? "").split(".").filter(Boolean).map(Number));
    all.forEach((one, at) => {
      if (one.open !== open.has(at + 1)) one.open = open.has(at + 1);
    });
  };
  const remember = () => {
    const open = all.flatMap((one, at) => (one.open ? [at + 1] : []));
    address.set({ open: open.join(".") });
  };
  recall();
  // What an address opens says so later: then the address is right already.
  for (const one of all) one.addEventListener("toggle", remember);
  addEventListener("hashchange", recall);
}

/** Starts what a report has besides its graphs. */
export function startReport(): void {
  addEventListener("keydown", onKey);
  startOpen();
  turnTexts(document.querySelectorAll("header.page, .report td.when, .report .facts dd, .report .axis"));
  turnTitles(document.querySelectorAll<HTMLElement>("td.when [title], .axis [title]"));
  // The address keeps what is seen of the graphs, so that headings are gone to without it.
  document.querySelector(".contents")?.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const target = document.querySelector<HTMLElement>(link?.getAttribute("href") ?? "none");
    if (!target) return;
    event.preventDefault();
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  });
}
