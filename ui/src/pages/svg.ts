/* The script of a flame graph as a picture: zoom and search, without a page around it. */
import { characters, fit as fitted, levels } from "../shared/names";
import { matcher } from "../shared/search";

const SVG = document.documentElement.namespaceURI;
const HTML = "http://www.w3.org/1999/xhtml";
const PITCH = 6.63;
const LEFT = 10;
const DRAWN = 1180;
const LEGEND_ROW = 18;

interface Frame {
  group: SVGElement;
  rect: Element;
  text: Element | null;
  index: number;
  title: string;
  name: string;
  /** Its kind of work, a key of the legend. */
  kind: string | undefined;
  forms: readonly string[];
  /** Shares of the whole; y stays in pixels. */
  x: number;
  width: number;
  y: number;
  /** What its elements say: what is there already is not written again. */
  written: Map<string, string>;
}

let frames: Frame[] = [];
let zoomed: Frame | null = null;
let words = "";
/** The kind of work that stands out. */
let lit = "";
/** Entries of the legend, and the rows that the picture has for them. */
let entries: SVGElement[] = [];
let rows = 0;
let wide = DRAWN;
/** Height of the picture. */
let drawn = 0;
const by = (id: string) => document.getElementById(id) as Element;

function load(): void {
  const root = document.documentElement;
  const isWide = root.dataset.wide === "1";
  frames = Array.from(by("frames").children, (group, index) => {
    const title = group.firstChild?.textContent ?? "";
    const rect = group.querySelector("rect") as Element;
    // Whatever a name holds: the picture tells how long it is.
    const name = title.slice(0, Number((group as SVGElement).dataset.n));
    const forms = name ? levels(name) : [title];
    return {
      group: group as SVGElement,
      rect,
      text: group.querySelector("text"),
      index,
      title,
      name,
      kind: (group as SVGElement).dataset.k,
      forms: isWide ? [name, ...forms] : forms,
      x: (Number(rect.getAttribute("x")) - LEFT) / DRAWN,
      width: Number(rect.getAttribute("width")) / DRAWN,
      y: Number(rect.getAttribute("y")),
      written: new Map(),
    };
  });
  const of = (event: Event) => {
    const group = (event.target as Element).closest("#frames > g");
    return frames.find((frame) => frame.group === group) ?? null;
  };
  by("frames").addEventListener("click", (event) => {
    const frame = of(event);
    if (frame) zoom(frame);
  });
  by("frames").addEventListener("mouseover", (event) => {
    by("details").textContent = of(event)?.title ?? "";
  });
  entries = Array.from(document.querySelectorAll<SVGElement>("#kinds > g"));
  rows = new Set(entries.map((entry) => entry.getAttribute("transform")?.split(" ")[1])).size;
  for (const entry of entries) entry.addEventListener("click", () => light(entry.dataset.k ?? ""));
  by("reset").addEventListener("click", () => zoom(null));
  by("search").addEventListener("click", ask);
  addEventListener("keydown", (event) => {
    const isFind = (event.ctrlKey || event.metaKey) && event.key === "f";
    if (isFind || event.key === "/") {
      event.preventDefault();
      ask();
    } else if (event.key === "Escape") {
      if (words) find("");
      else if (lit) light("");
      else zoom(null);
    } else if (/^[1-9]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const entry = entries[Number(event.key) - 1];
      if (entry) light(entry.dataset.k ?? "");
    }
  });
  const state = new URLSearchParams(location.hash.slice(1));
  addEventListener("resize", fit);
  fit();
  const searched = state.get("s");
  if (searched) find(searched);
  const kind = state.get("k");
  if (entries.some((entry) => entry.dataset.k === kind)) light(kind as string);
  if (state.has("z")) zoom(frames[Number(state.get("z"))] ?? null);
}

/** A standalone picture fills the width of its window; inside a page it keeps its own. */
function fit(): void {
  const root = document.documentElement;
  if (window.top !== window || root.parentElement) return;
  wide = Math.max(root.clientWidth || innerWidth, 340) - 2 * LEFT;
  root.setAttribute("width", String(wide + 2 * LEFT));
  drawn ||= Number(root.getAttribute("height"));
  const more = flow();
  // The whole window has the ground of the picture.
  const high = Math.max(drawn + more, root.clientHeight ? innerHeight : 0);
  root.setAttribute("height", String(high));
  root.setAttribute("viewBox", `0 0 ${wide + 2 * LEFT} ${high}`);
  by("search").setAttribute("x", String(wide + LEFT));
  by("reset").setAttribute("x", String(wide - 90));
  by("matched").setAttribute("x", String(wide + LEFT));
  draw();
}

/** Sets the legend in rows as wide as the picture; returns by how much the frames make room for them. */
function flow(): number {
  let [x, row] = [LEFT, 0];
  for (const entry of entries) {
    const length = (entry.querySelector("text") as SVGTextElement).getComputedTextLength() + 37;
    if (x > LEFT && x + length - 20 > LEFT + wide) [x, row] = [LEFT, row + 1];
    entry.setAttribute("transform", `translate(${x} ${66 + row * LEGEND_ROW})`);
    x += length;
  }
  const more = entries.length ? (row + 1 - rows) * LEGEND_ROW : 0;
  for (const id of ["frames", "details"]) by(id).setAttribute("transform", `translate(0 ${more})`);
  return more;
}

/** Makes one kind of work stand out, or none: that which does is pressed again. */
function light(kind: string): void {
  lit = kind === lit ? "" : kind;
  for (const entry of entries) entry.classList.toggle("lit", entry.dataset.k === lit);
  for (const { group, kind } of frames)
    group.classList.toggle("other", lit !== "" && kind !== undefined && kind !== lit);
  remember();
}

function place(frame: Frame, x: number, width: number, away: boolean): void {
  const { group } = frame;
  const isSeen = x + width > LEFT && x < LEFT + wide && width >= 0.05;
  const write = (what: string, value: string, set: (value: string) => void) => {
    if (frame.written.get(what) === value) return;
    frame.written.set(what, value);
    set(value);
  };
  write("display", isSeen ? "" : "none", (value) => {
    group.style.display = value;
  });
  if (!isSeen) return;
  write("away", String(away), () => group.classList.toggle("away", away));
  const left = Math.max(x, LEFT);
  const right = Math.min(x + width, LEFT + wide);
  write("x", String(left), (value) => frame.rect.setAttribute("x", value));
  write("width", String(Math.max(right - left, 0.05)), (value) => frame.rect.setAttribute("width", value));
  const room = Math.floor((right - left - 6) / PITCH);
  if (room < 3) {
    frame.text?.remove();
    frame.text = null;
    frame.written.delete("text");
    frame.written.delete("text x");
    return;
  }
  if (!frame.text) {
    frame.text = document.createElementNS(SVG, "text") as SVGElement;
    frame.text.setAttribute("y", String(frame.y + 12));
    group.appendChild(frame.text);
  }
  const { text } = frame;
  write("text x", String(left + 3), (value) => text.setAttribute("x", value));
  write("text", fitted(frame.forms, room, characters), (value) => {
    text.textContent = value;
  });
}

function draw(): void {
  const from = zoomed ? zoomed.x : 0;
  const scale = wide / (zoomed ? zoomed.width : 1);
  const isBelow = zoomed && zoomed.y > frames[0].y;
  const isAbove = (y: number) => !!zoomed && (isBelow ? y < zoomed.y : y > zoomed.y);
  for (const one of frames) place(one, LEFT + (one.x - from) * scale, one.width * scale, isAbove(one.y));
}

function zoom(frame: Frame | null): void {
  zoomed = frame && frame.index > 0 ? frame : null;
  by("reset").setAttribute("visibility", zoomed ? "visible" : "hidden");
  draw();
  remember();
}

/** Puts a field in place of the word: what is typed is searched at once. */
function ask(): void {
  const place = document.createElementNS(SVG, "foreignObject") as SVGElement;
  for (const [key, value] of Object.entries({ x: wide + LEFT - 240, y: 6, width: 240, height: 28 })) {
    place.setAttribute(key, String(value));
  }
  const field = document.createElementNS(HTML, "input") as HTMLInputElement;
  field.setAttribute("aria-label", "Search functions: text or expression");
  field.setAttribute("id", "field");
  field.value = words;
  // What is removed loses the focus, which closes it again.
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    place.remove();
    by("search").setAttribute("visibility", "visible");
  };
  field.addEventListener("input", () => find(field.value.trim()));
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") find("");
    if (event.key === "Escape" || event.key === "Enter") close();
  });
  field.addEventListener("blur", close);
  place.append(field);
  by("search").setAttribute("visibility", "hidden");
  document.documentElement.append(place);
  field.focus();
}

function find(text: string): void {
  words = text;
  const test = text ? matcher(text) : null;
  const found: [number, number][] = [];
  for (const frame of frames) {
    const isHit = !!test && frame.index > 0 && frame.name !== "" && test(frame.name);
    frame.group.classList.toggle("found", isHit);
    if (isHit) found.push([frame.x, frame.x + frame.width]);
  }
  // A frame under a found one covers the same columns: the union is what the outermost ones add up to.
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let sum = 0;
  let end = 0;
  for (const [a, b] of found) {
    if (b <= end) continue;
    sum += b - Math.max(a, end);
    end = b;
  }
  // Boxes of narrow frames have no name, and may have more of them.
  const least = frames.some(({ index, name }) => index > 0 && name === "") ? "at least " : "";
  by("matched").textContent = test
    ? `matched ${least}${(sum * 100).toFixed(2)} % · ${found.length} ${found.length === 1 ? "frame" : "frames"}`
    : "";
  by("search").textContent = test ? "search again" : "search";
  remember();
}

function remember(): void {
  const state = new URLSearchParams();
  if (zoomed) state.set("z", String(zoomed.index));
  if (words) state.set("s", words);
  if (lit) state.set("k", lit);
  try {
    history.replaceState(null, "", `#${state}`);
  } catch {
    // A file opened where history is closed.
  }
}

if (document.readyState === "loading") addEventListener("DOMContentLoaded", load);
else load();
