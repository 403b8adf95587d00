/* Light or dark, and what must be drawn again when that changes or paper comes. */
const root = document.documentElement;
const redraws: (() => void)[] = [];
let printing = false;

/** Returns true if the page is dark now; paper never is. */
export const dark = (): boolean =>
  !printing &&
  (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Pixels of a canvas for each of the page: more on paper than on the screen. */
export const ratio = (): number => (printing ? Math.max(2, devicePixelRatio || 1) : devicePixelRatio || 1);

/** Returns true while the page is drawn for paper. */
export const isPrinting = (): boolean => printing;

/** Pixels between the margins of upright A4 paper: the sheet of styles stretches a drawing to paper of another width. */
const PAPER = 718;

/** Pixels that a drawing in an element is wide: on paper those of the paper, which is laid out after it is drawn. */
export const widthOf = (element: Element): number => (printing ? PAPER : element.clientWidth);

/** Asked once: a painter asks for each frame. */
let fingers: MediaQueryList | undefined;

/** Pixels of a row of frames: of paper, for a mouse, for fingers. */
export function frameHeight(): number {
  fingers ??= matchMedia("(pointer: coarse)");
  return printing ? 14 : fingers.matches ? 28 : 20;
}

/** The colours that variables come to, which a canvas needs; asked for together, because each question costs a layout. */
export function colours<N extends string>(names: readonly N[], within: Element = document.body): Record<N, string> {
  const probes = document.createElement("i");
  probes.hidden = true;
  probes.style.colorScheme = dark() ? "dark" : "light";
  for (const name of names) {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    probes.append(probe);
  }
  within.append(probes);
  const found = names.map((name, at) => [name, getComputedStyle(probes.children[at]).color]);
  probes.remove();
  return Object.fromEntries(found);
}

/** Calls `draw` again when the theme changes and before printing, until `life` ends or what it returns is called. */
export const onRedraw = (draw: () => void, life?: AbortSignal): (() => void) => {
  redraws.push(draw);
  const forget = () => {
    redraws.splice(redraws.indexOf(draw), 1);
  };
  life?.addEventListener("abort", forget);
  return forget;
};

/** Changes from light to dark and back. */
export function switchTheme(): void {
  root.dataset.theme = dark() ? "light" : "dark";
  redraw();
}

function redraw(): void {
  for (const draw of redraws) draw();
}

/** Starts the switch of the theme. */
export function startTheme(): void {
  document.querySelector<HTMLButtonElement>("header.page .theme")?.addEventListener("click", switchTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const print = (on: boolean) => () => {
    printing = on;
    redraw();
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
}
