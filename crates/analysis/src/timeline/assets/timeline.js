page.part("timeline", (part, data) => {
  const { SPAN, PAUSE, LOSS, SAMPLE, exact, decode, painter, words } = page.timeline;
  const by = (name) => part.querySelector(`:scope .${name}`);
  const view = by("view"), canvas = part.querySelector("canvas"), tip = by("tip"), details = by("details");
  const t = decode(data), HALF = 4294967296, whole = document.body.classList.contains("whole");
  const HEIGHTS = { [SPAN]: 17, [SAMPLE]: 11 };
  const s = {
    part, data, t, view: { h: 0, l: 0, span: 1 }, start: BigInt(data.start), length: BigInt(data.length),
    left: 210, head: 30, wide: 1, high: 1, scroll: 0, clip: [0, 0],
    lines: [], pinnedLines: [], pinnedHeight: 0, pinned: [], folded: new Set(), bands: [],
    selected: -1, hovered: -1, track: "", hits: null, measured: [], pointer: null,
  };
  delete data.bits;
  const w = words(s);
  s.label = w.label;
  const longest = Math.max(Number(s.length), 1);

  /* Rows and their tracks. */
  let row = 0;
  const trackAt = [];
  data.tracks.forEach((track, number) => {
    track.first = row;
    track.key = `t${number}`;
    track.number = number;
    for (let end = row + track.rows; row < end; row++) {
      trackAt[row] = track;
      if (data.kinds[row] === PAUSE || data.kinds[row] === LOSS) (s.bands[track.source] ||= []).push(row);
    }
  });
  t.counters.forEach((counter, number) => { counter.key = `c${number}`; });
  s.rowOf = (item) => {
    let low = 0, high = data.counts.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (t.first[middle + 1] <= item) low = middle + 1; else high = middle;
    }
    return low;
  };
  s.trackOf = (item) => trackAt[s.rowOf(item)];

  function lineOf(track) {
    const folded = s.folded.has(track.key), rows = [];
    let top = 2, folds = t.counters.some((one) => one.track === track.number);
    for (let row = track.first; row < track.first + track.rows; row++) {
      const outer = data.levels[row] === 0 && data.lanes[row] === 0;
      folds ||= !outer;
      if (folded && !outer) continue;
      const height = HEIGHTS[data.kinds[row]] || 9;
      // A little room before each lane.
      if (data.kinds[row] === SPAN && data.lanes[row] && data.levels[row] === 0) top += 3;
      rows.push({ row, top, height });
      top += height;
    }
    const note = track.process && !track.name.includes(track.process) ? track.process : "";
    const name = track.kind === "process" ? `${track.name} (process)` : track.name;
    folds ||= track.kind === "process" && t.counters.some((one) => one.source === track.source && one.track === null);
    return { key: track.key, source: track.source, level: track.level, name, note, rows, folds, folded, height: Math.max(top + 2, 21), track };
  }
  function lineOfCounter(counter) {
    const range = counter.count ? `${value(counter, counter.least)} to ${value(counter, counter.most)}` : "no points";
    return { key: counter.key, source: counter.source, level: counter.track === null ? 0 : 1, name: counter.name, note: range, rows: [], height: counter.track === null ? 34 : 22, counter };
  }
  const value = (counter, v) => Number.isInteger(v) || counter.unit !== "count" ? page.amount(counter.unit, v, counter.unit_name)
    : `${+v.toPrecision(3)} ${counter.unit_name}`.trim();

  function arrange() {
    const all = [];
    data.sources.forEach((source, number) => {
      const counters = (track) => t.counters.filter((one) => one.source === number && one.track === track).map(lineOfCounter);
      const tracks = data.tracks.filter((track) => track.source === number), process = tracks[0]?.kind === "process";
      if (data.sources.length > 1 && !process) all.push({ key: "", source: number, level: 0, name: source.title, note: "", rows: [], height: 22 });
      if (!process) all.push(...counters(null));
      tracks.forEach((track, place) => {
        all.push(lineOf(track));
        if (s.folded.has(track.key)) return;
        if (process && place === 0) all.push(...counters(null));
        all.push(...counters(track.number));
      });
    });
    const stack = (lines) => lines.reduce((top, line) => { line.top = top; return top + line.height; }, 0);
    s.pinnedLines = s.pinned.map((key) => all.find((line) => line.key === key)).filter(Boolean).map((line) => ({ ...line }));
    s.lines = all;
    s.pinnedHeight = Math.min(stack(s.pinnedLines), Math.max(60, s.high / 2));
    const height = stack(all);
    by("room").style.height = `${height + s.head + s.pinnedHeight}px`;
    return height;
  }

  /* The window. */
  function normalise() {
    const v = s.view;
    v.span = Math.min(Math.max(v.span, 4), longest * 1.1 + 10);
    const at = v.h * HALF + v.l, least = -v.span / 2, most = longest - v.span / 2;
    if (at < least || at > most) { v.h = 0; v.l = at < least ? least : most; }
    const carry = Math.floor(v.l / HALF);
    v.h += carry;
    v.l -= carry * HALF;
  }
  const plot = () => Math.max(1, s.wide - s.left);
  const perPixel = () => s.view.span / plot();
  function move(pixels) { s.view.l += pixels * perPixel(); changed(); }
  function zoom(factor, at = plot() / 2) {
    const before = s.view.span;
    s.view.span = Math.min(Math.max(before * factor, 4), longest * 1.1 + 10);
    s.view.l += (before - s.view.span) * at / plot();
    changed();
  }
  function show(h, l, span) { Object.assign(s.view, { h, l, span }); changed(); }
  function all() { show(0, -longest * 0.01, longest * 1.02 + 1); }
  function changed() { normalise(); schedule(); remember(); }
  s.share = () => {
    const start = Math.max(0, (s.view.h * HALF + s.view.l) / longest);
    return [Math.min(start, 1), Math.min(s.view.span / longest, 1 - Math.min(start, 1))];
  };
  const halves = (ns) => ({ h: Number(ns >> 32n), l: Number(ns & 0xffffffffn) });
  const left = () => exact(0, 0) + (BigInt(s.view.h) << 32n) + BigInt(Math.floor(s.view.l));
  /* The nanosecond under a pixel of the plot. */
  const under = (x) => left() + BigInt(Math.floor(s.view.l - Math.floor(s.view.l) + x * perPixel()));

  const STEPS = [60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map((n) => n * 1e9);
  s.ticks = () => {
    const wanted = perPixel() * (s.length < 120000000000n ? 130 : 150);
    let step = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
    step *= [1, 2, 5, 10].find((n) => step * n >= wanted) || 10;
    if (step > 3e10) step = STEPS.find((one) => one >= wanted) || 864e11 * Math.ceil(wanted / 864e11);
    const size = BigInt(Math.max(1, Math.round(step))), first = left() / size * size, ticks = [];
    for (let at = first; ticks.length < 200; at += size) {
      const { h, l } = halves(at), x = paint.place(h, l);
      if (x > plot()) break;
      ticks.push({ at: x, text: w.clock(at, size) });
    }
    return ticks;
  };
  s.corner = () => data.unix ? w.iso(s.start + left()) : "own clock";
  s.distance = () => {
    const [a, b] = s.measured.map(({ h, l }) => exact(h, l)), far = a < b ? b - a : a - b;
    return far < 1000n ? w.commas(far) : `${w.amount(far)} = ${w.commas(far)}`;
  };

  /* Where an item is drawn. */
  s.spot = (item, list) => {
    const row = s.rowOf(item), key = trackAt[row].key;
    const line = list.find((line) => line.key === key), place = line?.rows.find((one) => one.row === row);
    return place && { top: line.top + place.top, height: place.height };
  };

  const paint = painter(canvas, s);
  let waiting = 0;
  function schedule() { waiting ||= requestAnimationFrame(draw); }
  function draw() {
    waiting = 0;
    s.scroll = view.scrollTop;
    paint.draw();
  }
  function resize() {
    s.wide = Math.max(view.clientWidth, 120);
    s.high = Math.max(view.clientHeight, 60);
    s.left = Math.min(210, Math.round(s.wide * 0.3));
    arrange();
    paint.resize();
    normalise();
    draw();
  }

  /* What lies under a point of the view. */
  function at(x, y) {
    const pinned = y < s.head + s.pinnedHeight, list = pinned ? s.pinnedLines : s.lines;
    const down = y - s.head - (pinned ? 0 : s.pinnedHeight) + (pinned ? 0 : view.scrollTop);
    if (y < s.head) return {};
    const line = list.find((one) => down >= one.top && down < one.top + one.height);
    const place = line?.rows.find((one) => down - line.top >= one.top && down - line.top < one.top + one.height);
    return { line, item: place && x >= s.left ? near(place.row, x - s.left) : -1 };
  }
  /* The item of a row at a pixel, or the nearest within three. */
  function near(row, x) {
    let low = t.first[row], high = t.first[row + 1];
    const end = high;
    while (low < high) {
      const middle = low + high >> 1;
      if (paint.place(t.eh[middle], t.el[middle]) < x - 3) low = middle + 1; else high = middle;
    }
    let best = -1, distance = 3;
    for (let item = low; item < end; item++) {
      const from = paint.place(t.sh[item], t.sl[item]), to = paint.place(t.eh[item], t.el[item]);
      if (from > x + 3) break;
      const far = x < from ? from - x : x > to ? x - to : 0;
      if (far < distance || (far === 0 && distance > 0)) { best = item; distance = far; }
      if (far === 0) break;
    }
    return best;
  }

  /* Selection. */
  function select(item, reveal) {
    s.selected = item;
    if (item < 0) { details.textContent = "Nothing is selected; ? lists the keys."; schedule(); remember(); return; }
    const track = s.trackOf(item);
    s.track = track.key;
    details.replaceChildren(...w.details(item));
    if (reveal) {
      if (!s.spot(item, s.lines) && s.folded.delete(track.key)) arrange();
      const spot = s.spot(item, s.lines), top = view.scrollTop, room = s.high - s.head - s.pinnedHeight;
      if (spot && spot.top < top) view.scrollTop = spot.top - 20;
      else if (spot && spot.top + spot.height > top + room) view.scrollTop = spot.top + spot.height - room + 20;
      const from = paint.place(t.sh[item], t.sl[item]), to = paint.place(t.eh[item], t.el[item]);
      if (to < 20 || from > plot() - 20 || (reveal === "near" && to - from < 4)) {
        const span = reveal === "near" ? Math.max(Number(w.length(item)) * 8, 40) : s.view.span;
        const middle = w.start(item) + w.length(item) / 2n;
        show(Number(middle >> 32n), Number(middle & 0xffffffffn) - span / 2, span);
      }
    }
    schedule();
    remember();
  }
  function zoomTo(item) {
    const length = Number(w.length(item)), span = Math.max(length * 1.2, 10);
    show(t.sh[item], t.sl[item] - (span - length) / 2, span);
  }
  /* The caller, the first callee, the neighbours of a row. */
  function walk(key) {
    const item = s.selected, row = s.rowOf(item), track = trackAt[row];
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const to = item + (key === "ArrowLeft" ? -1 : 1);
      if (to >= t.first[row] && to < t.first[row + 1]) select(to, "here");
      return;
    }
    const step = key === "ArrowUp" ? -1 : 1;
    for (let other = track.first; other < track.first + track.rows; other++) {
      if (data.kinds[other] !== data.kinds[row] || data.lanes[other] !== data.lanes[row] || data.levels[other] !== data.levels[row] + step) continue;
      const from = exact(t.sh[item], t.sl[item]), to = exact(t.eh[item], t.el[item]);
      let low = t.first[other], high = t.first[other + 1];
      while (low < high) {
        const middle = low + high >> 1, end = exact(t.eh[middle], t.el[middle]);
        if (end <= from && end !== w.start(middle)) low = middle + 1; else high = middle;
      }
      const inside = low < t.first[other + 1] && (step < 0 ? w.start(low) <= from : w.start(low) < to || w.start(low) === from);
      if (inside) select(low, "here");
    }
  }

  /* Search: names, and values of attributes. */
  let text = "";
  function find(what) {
    text = what;
    if (by("search").value !== what) by("search").value = what;
    s.hits = null;
    let matched = "";
    if (what) {
      let test;
      try { const expression = new RegExp(what, "i"); test = (name) => expression.test(name); }
      catch { const plain = what.toLowerCase(); test = (name) => name.toLowerCase().includes(plain); }
      const names = Uint8Array.from(data.names, (name) => test(name) ? 1 : 0);
      const texts = data.texts.map(test), lists = new Uint8Array(data.lists + 1);
      if (texts.includes(true)) {
        for (let list = 1; list <= data.lists; list++) lists[list] = t.pairs(list).some(([, value]) => test(value)) ? 1 : 0;
      }
      s.hits = new Uint32Array(t.total + 1);
      for (let item = 0; item < t.total; item++) s.hits[item + 1] = s.hits[item] + (names[t.name[item]] | lists[t.list[item]]);
      const count = s.hits[t.total];
      matched = count ? `${page.grouped(count)} ${count === 1 ? "match" : "matches"}` : "no match";
    }
    by("matched").textContent = matched;
    by("previous").disabled = by("next").disabled = !s.hits || !s.hits[t.total];
    remember();
    schedule();
  }
  /* The match after or before the selection by time; equal times by their place. */
  function step(forward) {
    if (!s.hits || !s.hits[t.total]) return;
    const after = (a, b) => t.sh[a] - t.sh[b] || t.sl[a] - t.sl[b] || a - b;
    const sign = forward ? 1 : -1;
    let best = -1, outermost = -1;
    for (let item = 0; item < t.total; item++) {
      if (s.hits[item + 1] === s.hits[item]) continue;
      if (outermost < 0 || sign * after(item, outermost) < 0) outermost = item;
      if (s.selected >= 0 && sign * after(item, s.selected) > 0 && (best < 0 || sign * after(item, best) < 0)) best = item;
    }
    select(best < 0 ? outermost : best, "near");
  }

  /* Measuring. */
  let measuring = false;
  function snap(x) {
    let best = null, distance = 6;
    const see = (h, l) => {
      const far = Math.abs(paint.place(h, l) - x);
      if (far < distance) { distance = far; best = { h, l }; }
    };
    if (s.hovered >= 0) { see(t.sh[s.hovered], t.sl[s.hovered]); see(t.eh[s.hovered], t.el[s.hovered]); }
    return best || halves(under(x));
  }
  function point(where) {
    s.measured = s.measured.length === 1 ? [s.measured[0], where] : [where];
    measuring = s.measured.length === 1;
    by("measure").setAttribute("aria-pressed", measuring);
    if (s.measured.length === 2) details.textContent = `Measured: ${s.distance()}`;
    schedule();
  }
  function measure() {
    if (s.pointer !== null) point(snap(s.pointer));
    else if (s.selected >= 0) {
      const item = s.selected;
      point(s.measured.length === 1 ? { h: t.eh[item], l: t.el[item] } : { h: t.sh[item], l: t.sl[item] });
    } else { measuring = true; s.measured = []; by("measure").setAttribute("aria-pressed", true); }
  }

  /* Tracks. */
  function pin(key) {
    const at = s.pinned.indexOf(key);
    if (at < 0) s.pinned.push(key); else s.pinned.splice(at, 1);
    arrange();
    if (!by("rows").hidden) table();
    remember();
    schedule();
  }
  function fold(key) {
    if (!s.folded.delete(key)) s.folded.add(key);
    arrange();
    schedule();
  }

  function table() {
    w.rows(by("rows"), {
      choose(track) { s.track = track.key; table(); },
      select(item) { tabled(false); select(item, "near"); view.focus(); },
      pin,
    });
  }
  function tabled(on) {
    by("rows").hidden = !on;
    view.hidden = on;
    by("as-table").setAttribute("aria-pressed", on);
    if (on) table(); else resize();
  }
  function help() {
    const keys = by("keys");
    keys.hidden = !keys.hidden;
    by("help").setAttribute("aria-expanded", !keys.hidden);
    resize();
  }

  /* The address remembers the window, the search, the selection and the pins. */
  const state = page.state(part);
  let remembering = 0;
  function remember() {
    clearTimeout(remembering);
    remembering = setTimeout(() => state.set({
      v: `${left()}_${Math.round(s.view.span)}`, s: text, i: s.selected < 0 ? null : s.selected, p: s.pinned.join("."),
    }), 250);
  }
  function recall() {
    s.pinned = (state.get("p") || "").split(".").filter((key) => /^[tc]\d+$/.test(key));
    all();
    if (data.bulk.length) {
      const [from, to] = data.bulk.map(BigInt), { h, l } = halves(from);
      show(h, l, Number(to - from));
    }
    const [from, span] = (state.get("v") || "").split("_");
    if (/^-?\d{1,20}$/.test(from) && +span > 0) {
      const { h, l } = halves(BigInt(from));
      show(h, l, +span);
    }
    if (state.get("s")) find(state.get("s"));
    const item = state.get("i");
    if (/^\d+$/.test(item || "") && +item < t.total) select(+item);
  }

  /* Mouse and fingers. */
  let drag = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button || event.target !== canvas) return;
    const bounds = view.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    drag = { x, y, moved: false, measure: event.shiftKey && x >= s.left };
    if (drag.measure) { s.measured = []; point(snap(x - s.left)); }
  });
  view.addEventListener("pointermove", (event) => {
    const bounds = view.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    s.pointer = x >= s.left ? x - s.left : null;
    if (drag && (drag.moved || Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4)) {
      if (!drag.moved) { drag.moved = true; view.setPointerCapture(event.pointerId); }
      if (drag.measure) { s.measured[1] = snap(x - s.left); details.textContent = `Measured: ${s.distance()}`; schedule(); }
      else if (event.pointerType !== "touch" || Math.abs(x - drag.x) > 0) {
        move(drag.x - x);
        if (event.pointerType !== "touch") view.scrollTop += drag.y - y;
        drag.x = x; drag.y = y;
      }
      tip.hidden = true;
      return;
    }
    const found = at(x, y), item = found.item ?? -1;
    let said = item >= 0 ? [w.full(item), w.describe(item)] : null;
    if (!said && found.line?.counter && x >= s.left) said = reading(found.line.counter, x - s.left);
    tip.hidden = !said;
    if (said) {
      const name = document.createElement("b");
      name.textContent = said[0];
      tip.replaceChildren(name, said[1]);
      const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
      tip.style.left = Math.max(4, right ? event.clientX - tip.offsetWidth - 10 : event.clientX + 14) + "px";
      const low = event.clientY + 18 + tip.offsetHeight > innerHeight;
      tip.style.top = (low ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + "px";
    }
    view.style.cursor = x < s.left ? "pointer" : measuring ? "crosshair" : "default";
    if (item !== s.hovered) { s.hovered = item; schedule(); }
  });
  /* The value that a counter had at a pixel. */
  function reading(counter, x) {
    let low = 0, high = counter.count;
    while (low < high) {
      const middle = low + high >> 1;
      if (paint.place(counter.th[middle], counter.tl[middle]) <= x) low = middle + 1; else high = middle;
    }
    return low ? [counter.name, value(counter, counter.value[low - 1])] : null;
  }
  view.addEventListener("pointerup", (event) => {
    const was = drag;
    drag = null;
    if (!was) return;
    if (was.measure) { measuring = false; by("measure").setAttribute("aria-pressed", false); if (!was.moved) s.measured = []; schedule(); return; }
    if (was.moved) return;
    const found = at(was.x, was.y);
    if (measuring && was.x >= s.left) return point(snap(was.x - s.left));
    if (was.x < s.left && found.line?.key) {
      if (was.x < 18) return pin(found.line.key);
      s.track = found.line.key;
      if (found.line.folds) fold(found.line.key); else schedule();
    } else if (was.y >= s.head) select(found.item ?? -1);
  });
  view.addEventListener("pointercancel", () => { drag = null; });
  view.addEventListener("dblclick", (event) => {
    const bounds = view.getBoundingClientRect(), { item } = at(event.clientX - bounds.left, event.clientY - bounds.top);
    if (item >= 0) zoomTo(item);
  });
  view.addEventListener("pointerleave", () => { s.pointer = null; s.hovered = -1; tip.hidden = true; schedule(); });
  view.addEventListener("wheel", (event) => {
    const x = event.clientX - view.getBoundingClientRect().left - s.left;
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(2 ** (event.deltaY / 150), Math.max(0, x)); }
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); move(event.deltaX || event.deltaY); }
  }, { passive: false });
  view.addEventListener("scroll", schedule, { passive: true });

  by("search").addEventListener("input", (event) => find(event.target.value.trim()));
  by("previous").onclick = () => step(false);
  by("next").onclick = () => step(true);
  by("in").onclick = () => zoom(0.5);
  by("out").onclick = () => zoom(2);
  by("all").onclick = all;
  by("measure").onclick = () => { s.pointer = null; if (measuring) { measuring = false; s.measured = []; by("measure").setAttribute("aria-pressed", false); schedule(); } else measure(); };
  by("as-table").onclick = () => tabled(by("rows").hidden);
  by("help").onclick = help;

  function escape() {
    if (measuring || s.measured.length) { measuring = false; s.measured = []; by("measure").setAttribute("aria-pressed", false); schedule(); }
    else if (text) find("");
    else select(-1);
    view.focus();
  }
  const KEYS = {
    w: () => zoom(0.7, s.pointer ?? undefined), s: () => zoom(1 / 0.7, s.pointer ?? undefined), "+": () => zoom(0.7), "-": () => zoom(1 / 0.7),
    a: () => move(-plot() / 8), d: () => move(plot() / 8), 0: all, m: measure, n: () => step(true), N: () => step(false),
    f: () => s.selected >= 0 && zoomTo(s.selected), Enter: () => s.selected >= 0 && zoomTo(s.selected),
    p: () => s.track && pin(s.track), c: () => s.track && fold(s.track), t: () => tabled(by("rows").hidden), "?": help, Escape: escape,
  };
  /* In a page of its own the keys work everywhere; among other parts, while something of this one has the focus. */
  (whole ? document : part).addEventListener("keydown", (event) => {
    const search = by("search"), typing = event.target === search;
    if (((event.ctrlKey || event.metaKey) && event.key === "f") || (event.key === "/" && !typing)) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (typing) {
      if (event.key === "Escape") escape();
      else if (event.key === "Enter") step(!event.shiftKey);
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key.startsWith("Arrow") && !view.hidden && (event.target === view || event.target === document.body)) {
      event.preventDefault();
      if (s.selected >= 0) walk(event.key);
      else if (event.key === "ArrowLeft" || event.key === "ArrowRight") move((event.key === "ArrowLeft" ? -1 : 1) * plot() / 8);
      else view.scrollTop += event.key === "ArrowUp" ? -60 : 60;
    } else if (KEYS[event.key] && !(event.key === "Enter" && event.target !== view) && (!view.hidden || "t?".includes(event.key) || event.key === "Escape")) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });

  const missing = data.sources.filter((one) => one.missing).map((one) => `${one.title}: ${one.missing}`);
  if (data.sources.some((one) => !one.unix) && data.sources.length > 1) missing.push("Recordings whose clock has no known origin begin at the left, each at its own start.");
  if (data.bulk.length) missing.push(`Nearly everything lies in the ${w.amount(BigInt(data.bulk[1]) - BigInt(data.bulk[0]))} that show first; a few times are far away.`);
  const unplaced = data.sources.reduce((sum, one) => sum + one.unplaced, 0);
  if (unplaced) missing.push(`${page.grouped(unplaced)} places of damage without a time.`);
  const lists = data.sources.reduce((sum, one) => sum + one.details_left_out, data.lists_left_out);
  if (lists) missing.push(`Attributes of ${page.grouped(lists)} spans and events are left out, those of the shortest.`);
  const undrawn = data.tracks.reduce((sum, track) => sum + track.undrawn, 0);
  if (undrawn) missing.push(`${page.grouped(undrawn)} spans and events are counted and not drawn: more lanes or levels than a track shows.`);
  if (!data.all) missing.push("The shortest spans and events are drawn together; counts and totals of tracks are those of all.");
  by("missing").hidden = !missing.length;
  by("missing").textContent = missing.join(" ");

  // Nothing has a time: what there is to say is said.
  if (!data.tracks.length && !data.counters.length) {
    for (const name of ["tools", "view", "details"]) by(name).hidden = true;
    return;
  }
  page.onRedraw(() => { paint.dress(); resize(); });
  new ResizeObserver(() => { if (!view.hidden && (view.clientWidth !== s.wide || view.clientHeight !== s.high)) resize(); }).observe(view);
  paint.dress();
  s.wide = view.clientWidth;
  s.high = view.clientHeight;
  resize();
  recall();
  draw();
});
