"use strict";
(() => {
  const PITCH = 6.63, LEFT = 10, DRAWN = 1180;
  let frames = [], root, zoomed = null, words = "", wide = DRAWN;
  const by = (id) => document.getElementById(id);

  function load() {
    root = document.documentElement;
    const short = root.dataset.short === "1";
    frames = Array.from(by("frames").children, (group, index) => {
      const title = group.firstChild.textContent;
      const rect = group.querySelector("rect");
      const name = title.slice(0, title.lastIndexOf(": "));
      return {
        group, rect, text: group.querySelector("text"), index, title, name,
        label: short && index > 0 ? shorten(name) : name,
        // Shares of the whole; y stays in pixels.
        x: (rect.getAttribute("x") - LEFT) / DRAWN, width: rect.getAttribute("width") / DRAWN, y: +rect.getAttribute("y"),
      };
    });
    const of = (target) => {
      const group = target.closest && target.closest("#frames > g");
      return group ? frames.find((frame) => frame.group === group) : null;
    };
    by("frames").addEventListener("click", (event) => { const f = of(event.target); if (f) zoom(f); });
    by("frames").addEventListener("mouseover", (event) => {
      const f = of(event.target);
      by("details").textContent = f ? f.title : "";
    });
    by("reset").addEventListener("click", () => zoom(null));
    by("search").addEventListener("click", ask);
    addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "f") { event.preventDefault(); ask(); }
      else if (event.key === "/") { event.preventDefault(); ask(); }
      else if (event.key === "Escape") { if (words) find(""); else zoom(null); }
    });
    const state = new URLSearchParams(location.hash.slice(1));
    addEventListener("resize", fit);
    fit();
    if (state.has("s")) find(state.get("s"));
    if (state.has("z")) zoom(frames[+state.get("z")] || null);
  }

  /* A standalone picture fills the width of its window; inside a page it keeps its own. */
  function fit() {
    if (window.top !== window || root.parentElement) return;
    wide = Math.max(document.documentElement.clientWidth || innerWidth, 340) - 2 * LEFT;
    root.setAttribute("width", wide + 2 * LEFT);
    root.setAttribute("viewBox", `0 0 ${wide + 2 * LEFT} ${root.getAttribute("height")}`);
    by("search").setAttribute("x", wide + LEFT);
    by("reset").setAttribute("x", wide - 90);
    by("matched").setAttribute("x", wide + LEFT);
    draw();
  }

  /* The same shortening as in the tables: initials of a Java package, class, method. */
  function shorten(name) {
    const plain = name.split("(")[0];
    const parts = plain.split(plain.includes("/") ? "/" : ".");
    const start = parts.findIndex((part) => /^[\p{Lu}$]/u.test(part));
    if (start < 1 || !parts.slice(0, start).every((part) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(part))) return name;
    return parts.slice(0, start).map((part) => part[0] + ".").join("") + parts.slice(start).join(".");
  }

  function place(frame, x, width, away) {
    const group = frame.group;
    const seen = x + width > LEFT && x < LEFT + wide && width >= 0.05;
    group.style.display = seen ? "" : "none";
    if (!seen) return;
    group.classList.toggle("away", away);
    const left = Math.max(x, LEFT), right = Math.min(x + width, LEFT + wide);
    frame.rect.setAttribute("x", left);
    frame.rect.setAttribute("width", Math.max(right - left, 0.05));
    const room = Math.floor((right - left - 6) / PITCH);
    if (room < 3) { if (frame.text) frame.text.textContent = ""; return; }
    if (!frame.text) {
      frame.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      frame.text.setAttribute("y", frame.y + 12);
      group.appendChild(frame.text);
    }
    frame.text.setAttribute("x", left + 3);
    const label = frame.label;
    frame.text.textContent = label.length <= room ? label : label.slice(0, room - 1) + "…";
  }

  function draw() {
    const from = zoomed ? zoomed.x : 0, scale = wide / (zoomed ? zoomed.width : 1);
    const below = zoomed && zoomed.y > frames[0].y;
    const above = (other) => zoomed && (below ? other.y < zoomed.y : other.y > zoomed.y);
    for (const other of frames) place(other, LEFT + (other.x - from) * scale, other.width * scale, !!above(other));
  }

  function zoom(frame) {
    zoomed = frame && frame.index > 0 ? frame : null;
    by("reset").setAttribute("visibility", zoomed ? "visible" : "hidden");
    draw();
    remember();
  }

  function ask() {
    const answer = prompt("Search (regular expression, any case)", words);
    if (answer !== null) find(answer);
  }

  function find(text) {
    words = text;
    let test = null;
    if (text) {
      try { test = new RegExp(text, "i"); }
      catch { test = { test: (name) => name.toLowerCase().includes(text.toLowerCase()) }; }
    }
    const found = [];
    for (const frame of frames) {
      const hit = !!test && frame.index > 0 && test.test(frame.name);
      frame.group.classList.toggle("found", hit);
      if (hit) found.push([frame.x, frame.x + frame.width]);
    }
    // A frame under a found one covers the same columns: the union is what the outermost ones add up to.
    found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    let sum = 0, end = 0;
    for (const [a, b] of found) if (b > end) { sum += b - Math.max(a, end); end = b; }
    by("matched").textContent = test ? `matched ${(sum * 100).toFixed(2)} % · ${found.length} frames` : "";
    by("search").textContent = test ? "search again" : "search";
    remember();
  }

  function remember() {
    const state = new URLSearchParams();
    if (zoomed) state.set("z", zoomed.index);
    if (words) state.set("s", words);
    try { history.replaceState(null, "", "#" + state); } catch { /* a file opened where history is closed */ }
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", load); else load();
})();
