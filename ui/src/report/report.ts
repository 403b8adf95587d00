import { turnTexts, turnTitles } from "../shared/zone";

/** Starts what a report has besides its graphs. */
export function startReport(): void {
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
