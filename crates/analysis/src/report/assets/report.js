(() => {
  // The address keeps what is seen of the graphs, so that headings are gone to without it.
  document.querySelector(".contents").addEventListener("click", (event) => {
    const target = document.querySelector(event.target.closest("a")?.getAttribute("href") ?? "none");
    if (!target) return;
    event.preventDefault();
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  });
  // Paper cannot be opened.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
