page.part("flame", (part, data) => {
  const by = (name) => part.querySelector("." + name);
  const { grouped } = page;
  const remembered = page.state(part);
  const ROW = 19, GAP = 1, LEAST = 0.5;
  // What a widest screen could show of a tree that grows where it is looked at.
  const FINEST = 1 / 5000;
  const NOTHING = -2;
  for (const key of ["start", "tail", "colours", "kinds", "step", "was", "was_own"]) {
    if (data[key] !== undefined) data[key] = page.numbers(data[key]);
  }
  const held = trees.held(data), grouping = data.group.some(Boolean);
  const amount = (value) => page.amount(data.unit, value, data.unit_name);
  const share = (value) => data.merge === "sum" && data.total ? `${(value * 100 / data.total).toFixed(2)} %` : "";
  const label = (s) => data.starts[data.start[s]] + data.names[s].slice(data.names[s].length - data.tail[s]);
  const view = by("view"), canvas = part.querySelector("canvas"), context = canvas.getContext("2d");

  // What is seen: these six are what the address remembers.
  const seen = { zoomed: -1, words: "", shown: "graph", inverted: false, merged: false, upwards: data.upwards, colours: data.word ? "change" : "package" };
  let tree = held, growing = null, mergedOnce = null, hits = null, lit = NOTHING, selected = -1, hovered = -1;
  let colours = {}, pitch = 7, frame = 0;

  /* Nodes of a tree that grows keep their ids; the others' are their places. */
  const idOf = (node) => node < 0 || !tree.id ? node : tree.id[node];
  const nodeOf = (id) => id < 0 || !tree.id ? id : tree.id.indexOf(id);
  const refined = (id, least) => {
    if (!growing || !growing.refine(id, least)) return;
    const [z, s] = [idOf(seen.zoomed), idOf(selected)];
    tree = growing.flat();
    [seen.zoomed, selected, hovered] = [nodeOf(z), nodeOf(s), -1];
  };
  function reshape() {
    const names = seen.zoomed < 0 ? null : pathOf(seen.zoomed);
    if (seen.merged) mergedOnce ??= trees.merged(held, data);
    const whole = seen.merged ? mergedOnce : held;
    growing = seen.inverted ? new trees.Inverted(whole, data) : null;
    growing?.refine(-1, Math.abs(data.total) * FINEST);
    tree = growing ? growing.flat() : whole;
    seen.zoomed = selected = hovered = -1;
    return names;
  }

  const pathOf = (node) => {
    const path = [];
    for (let up = node; up >= 0; up = tree.parent[up]) path.unshift(data.names[tree.symbol[up]]);
    return path;
  };
  /* The node that these names lead to, or the last on the way. */
  function follow(names) {
    let at = -1;
    for (const name of names) {
      refined(idOf(at), 0);
      const last = at < 0 ? tree.size : tree.end[at];
      let child = at + 1;
      while (child < last && data.names[tree.symbol[child]] !== name) child = tree.end[child];
      if (child >= last) break;
      at = child;
    }
    return at;
  }

  function paint() {
    const dark = page.dark();
    colours = { packages: dark ? data.dark : data.light, changes: dark ? data.dark_steps : data.light_steps };
    for (const key of ["paper", "ink", "all", "found", "focus"]) colours[key] = page.colour(key, part);
    colours.kinds = data.categories.map((_, i) => `hsl(${Math.round(i * 137.5 + 210) % 360} ${dark ? "45% 36%" : "62% 78%"})`);
    colours.none = dark ? "hsl(60 3% 34%)" : "hsl(60 4% 86%)";
    legend();
  }
  page.onRedraw(() => { paint(); resize(); draw(); });
  const fill = (node) => {
    if (seen.colours === "category") return tree.kind[node] < 0 ? colours.none : colours.kinds[tree.kind[node]];
    // Changes are of the nodes that the page holds.
    if (seen.colours === "change" && tree.base) return colours.changes[data.step[node]];
    return colours.packages[data.colours[tree.symbol[node]]];
  };

  function describe(node) {
    if (node < 0) return `all: ${amount(data.total)}`;
    const { sum, own, calls } = tree;
    const parts = [amount(sum[node]), share(sum[node]), `self ${amount(own[node])} ${share(own[node])}`.trim()];
    if (calls[node]) parts.push(`${grouped(calls[node])} ${data.source}`);
    if (data.was && tree.base) {
      const was = data.was[node];
      const change = was ? `${amount(was)}, self ${amount(data.was_own[node])} (${((sum[node] - was) * 100 / Math.abs(was)).toFixed(1)} %)` : "none";
      parts.push(`${data.word}: ${change}`);
    }
    if (tree.kind[node] >= 0) parts.push(data.categories[tree.kind[node]]);
    const place = data.places[tree.symbol[node]];
    if (place) parts.push(place);
    return parts.filter(Boolean).join(" · ");
  }

  /* What the window shows: shares [from, from + range). */
  const span = () => seen.zoomed < 0 ? [0, 1] : [tree.left[seen.zoomed], tree.width[seen.zoomed] || 1];

  function resize() {
    const ratio = page.ratio(), { clientWidth: wide, clientHeight: high } = view;
    const size = [Math.max(1, Math.round(wide * ratio)), Math.max(1, Math.round(high * ratio))];
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      [canvas.width, canvas.height] = size;
      [canvas.style.width, canvas.style.height] = [wide + "px", high + "px"];
      schedule();
    }
    by("room").style.height = (tree.depths + 1) * ROW + "px";
  }

  const rowTop = (level) => {
    const height = Math.max((tree.depths + 1) * ROW, view.clientHeight);
    return (seen.upwards ? height - (level + 1) * ROW : level * ROW) - view.scrollTop;
  };

  function box(x, y, w, fill, text, node) {
    context.fillStyle = fill;
    context.fillRect(x, y, Math.max(w - (w > 3 ? GAP : 0), 0.5), ROW - GAP);
    if (node >= 0 && (node === selected || node === hovered)) {
      context.strokeStyle = colours.focus;
      context.lineWidth = node === selected ? 2 : 1;
      context.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), ROW - GAP - 2);
    }
    const room = Math.floor((w - 8) / pitch);
    if (room >= 3) {
      context.fillStyle = fill === colours.found ? "#fff" : colours.ink;
      context.fillText(text.length <= room ? text : text.slice(0, room - 1) + "…", x + 4, y + ROW / 2);
    }
  }

  function draw() {
    cancelAnimationFrame(frame);
    frame = 0;
    const ratio = page.ratio(), wide = view.clientWidth, high = view.clientHeight;
    const { symbol, depth, end, left, width, size } = tree;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, wide, high);
    context.font = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
    context.textBaseline = "middle";
    pitch = context.measureText("m").width || 7;
    const [from, range] = span(), scale = wide / range;
    box(0, rowTop(0), wide, colours.all, `all  ${amount(data.total)}`, -1);
    for (let node = 0; node < size;) {
      const w = width[node] * scale, x = (left[node] - from) * scale;
      // A subtree beside the window or thinner than half a pixel is skipped as a whole.
      if (w < LEAST || x >= wide || x + w <= 0) { node = end[node]; continue; }
      const y = rowTop(depth[node] + 1);
      if (y > -ROW && y < high) {
        const a = Math.max(x, 0), b = Math.min(x + w, wide);
        const found = hits && hits[symbol[node]];
        const dim = hits && !found || lit !== NOTHING && seen.colours === "category" && tree.kind[node] !== lit;
        context.globalAlpha = seen.zoomed >= 0 && depth[node] < depth[seen.zoomed] ? 0.5 : dim ? 0.45 : 1;
        box(a, y, b - a, found ? colours.found : fill(node), label(symbol[node]), node);
      } else if (seen.upwards ? y <= -ROW : y >= high) { node = end[node]; continue; }
      node++;
    }
    context.globalAlpha = 1;
  }
  const schedule = () => { if (!frame) frame = requestAnimationFrame(draw); };

  /* The node under a point. */
  function at(x, y) {
    const [from, range] = span(), { left, width, depth, end } = tree;
    const place = from + x / view.clientWidth * range;
    const height = Math.max((tree.depths + 1) * ROW, view.clientHeight);
    const down = y + view.scrollTop;
    const level = Math.floor((seen.upwards ? height - down : down) / ROW) - 1;
    if (level < 0) return -1;
    for (let node = 0; node < tree.size;) {
      if (place < left[node] || place >= left[node] + width[node]) { node = end[node]; continue; }
      if (depth[node] === level) return node;
      node++;
    }
    return -2;
  }

  function zoom(node) {
    seen.zoomed = node;
    if (node >= 0) {
      selected = node;
      refined(idOf(node), Math.abs(tree.sum[node]) * FINEST);
      node = seen.zoomed;
    }
    by("reset").disabled = node < 0;
    const path = by("path"), callers = [];
    path.textContent = "";
    for (let up = node; up >= 0; up = tree.parent[up]) callers.push(up);
    // The nearest callers matter; the picture above shows the others.
    if (callers.length > 8) path.append("… ");
    for (const caller of callers.slice(0, 8).reverse()) {
      const button = document.createElement("button"), id = idOf(caller);
      button.type = "button";
      button.textContent = label(tree.symbol[caller]);
      button.onclick = () => zoom(nodeOf(id));
      path.append(path.lastChild instanceof Element ? " › " : "", button);
    }
    reveal(node < 0 ? 0 : tree.depth[node] + 1);
    tell(node < 0 ? selected : node);
    remember();
    resize();
    schedule();
  }

  function reveal(level) {
    const top = rowTop(level);
    if (top < 0) view.scrollTop += top - ROW;
    else if (top + ROW > view.clientHeight) view.scrollTop += top + 2 * ROW - view.clientHeight;
  }

  function tell(node) {
    by("told").textContent = node < 0 ? describe(-1) : `${data.names[tree.symbol[node]]}: ${describe(node)}`;
    for (const button of ["copy-stack", "copy-folded"]) by(button).disabled = node < 0;
  }
  function select(node) {
    selected = node;
    tell(node);
    schedule();
  }

  function find(text) {
    seen.words = text;
    if (by("search").value.trim() !== text) by("search").value = text;
    hits = null;
    let matched = "";
    if (text) {
      let test;
      try { const expression = new RegExp(text, "i"); test = (name) => expression.test(name); }
      catch { const plain = text.toLowerCase(); test = (name) => name.toLowerCase().includes(plain); }
      hits = Uint8Array.from(data.names, (name, s) => !data.group[s] && test(name) ? 1 : 0);
      const functions = hits.reduce((sum, hit) => sum + hit, 0);
      // Of the tree as it is called, outermost matches alone: what calls itself counts once, as in the tables.
      let total = 0, self = 0, frames = 0;
      for (let node = 0, skip = 0; node < held.size; node++) {
        if (!hits[held.symbol[node]]) continue;
        frames++;
        self += held.own[node];
        if (node >= skip) { total += held.sum[node]; skip = held.end[node]; }
      }
      const sums = data.merge === "sum" ? `${amount(total)} ${share(total)}, self ${amount(self)} ${share(self)} · ` : "";
      matched = `matched: ${sums}${grouped(functions)} functions, ${grouped(frames)} frames`;
    }
    by("matched").textContent = matched;
    remember();
    table.update();
    schedule();
  }

  /* Kinds of work with what they came to by themselves; the one that is pressed stands out. */
  function legend() {
    const place = by("legend");
    place.hidden = seen.colours !== "category";
    if (place.hidden) return;
    const whole = seen.merged ? mergedOnce ?? held : held, sums = new Map();
    for (let node = 0; node < whole.size; node++) sums.set(whole.kind[node], (sums.get(whole.kind[node]) ?? 0) + whole.own[node]);
    const buttons = [...sums].sort((a, b) => b[1] - a[1]).map(([kind, own]) => {
      const button = document.createElement("button"), patch = document.createElement("i");
      button.type = "button";
      button.setAttribute("aria-pressed", kind === lit);
      button.onclick = () => { lit = kind === lit ? NOTHING : kind; legend(); schedule(); place.querySelector("[aria-pressed=true]")?.focus(); };
      patch.style.background = kind < 0 ? colours.none : colours.kinds[kind];
      button.append(patch, `${kind < 0 ? "(none)" : data.categories[kind]} ${amount(own)} ${share(own)}`.trim());
      return button;
    });
    place.replaceChildren(...buttons);
  }

  const escaped = (name) => name.replace(/[%;]/g, (c) => c === "%" ? "%25" : "%3B");
  function remember() {
    remembered.set({
      z: seen.zoomed < 0 ? null : pathOf(seen.zoomed).map(escaped).join(";"),
      s: seen.words, v: seen.shown === "graph" ? null : seen.shown, b: seen.inverted ? 1 : null, m: seen.merged ? 1 : null,
      t: seen.upwards === data.upwards ? null : 1, c: seen.colours === by("colours").options[0].value ? null : seen.colours,
    });
  }
  function recall() {
    const flag = (key) => remembered.get(key) === "1", choices = [...by("colours").options].map((option) => option.value);
    seen.inverted = flag("b");
    seen.merged = grouping && flag("m");
    seen.upwards = data.upwards !== flag("t");
    seen.colours = choices.includes(remembered.get("c")) ? remembered.get("c") : choices[0];
    const path = remembered.get("z"), words = remembered.get("s") ?? "", shown = remembered.get("v");
    const unescaped = (name) => name.replace(/%25|%3B/g, (code) => code === "%25" ? "%" : ";");
    reshape();
    pressed();
    paint();
    resize();
    view.scrollTop = seen.upwards ? view.scrollHeight : 0;
    if (words !== seen.words) find(words);
    zoom(path ? follow(path.split(";").map(unescaped)) : -1);
    show(["tree", "table"].includes(shown) ? shown : "graph");
  }

  function pressed() {
    const press = (name, on) => by(name).setAttribute("aria-pressed", on);
    for (const name of ["graph", "tree", "table"]) press("view-" + name, seen.shown === name);
    press("inverted", seen.inverted);
    press("merged", seen.merged);
    press("turned", seen.upwards);
    by("colours").value = seen.colours;
  }
  function show(shown) {
    seen.shown = shown;
    by("rows").hidden = shown === "graph";
    view.hidden = shown !== "graph";
    pressed();
    remember();
    if (shown === "graph") { resize(); schedule(); } else table.show(shown);
  }
  function change(what) {
    Object.assign(seen, what);
    const names = "upwards" in what || "colours" in what ? null : reshape();
    pressed();
    legend();
    if (names) zoom("inverted" in what ? -1 : follow(names));
    if ("upwards" in what) view.scrollTop = seen.upwards ? view.scrollHeight : 0;
    remember();
    table.update();
    resize();
    schedule();
  }

  function walk(key) {
    const { parent, end } = tree;
    const deeper = seen.upwards ? "ArrowUp" : "ArrowDown", higher = seen.upwards ? "ArrowDown" : "ArrowUp";
    let to = -1;
    if (selected < 0) to = tree.size ? 0 : -1;
    else if (key === deeper) to = end[selected] > selected + 1 ? selected + 1 : selected;
    else if (key === higher) to = parent[selected];
    else {
      const first = parent[selected] + 1, last = parent[selected] < 0 ? tree.size : end[parent[selected]];
      to = selected;
      if (key === "ArrowRight") { if (end[selected] < last) to = end[selected]; }
      else for (let node = first; node < selected; node = end[node]) to = node;
    }
    view.focus({ preventScroll: true });
    if (to < 0) return;
    select(to);
    const [from, range] = span();
    const outside = tree.left[to] + tree.width[to] <= from || tree.left[to] >= from + range;
    if (outside || seen.zoomed >= 0 && tree.depth[to] < tree.depth[seen.zoomed]) zoom(to);
    reveal(tree.depth[selected] + 1);
  }

  /* A stack as people read it, or as a line of folded stacks, which knows no semicolon in names. */
  async function copy(folded) {
    if (selected < 0) return;
    const names = pathOf(selected), callers = growing ? names.reverse() : names;
    const text = folded ? `${callers.map((name) => name.replace(/;/g, ":").replace(/\s*\n\s*/g, " ")).join(";")} ${tree.sum[selected]}` : callers.reverse().join("\n");
    by("told").textContent = await page.copy(text) ? "copied" : "this browser does not let pages copy";
  }

  const within = (event) => { const bounds = view.getBoundingClientRect(); return at(event.clientX - bounds.left, event.clientY - bounds.top); };
  view.addEventListener("click", (event) => {
    const node = within(event);
    if (node >= -1) zoom(node === seen.zoomed ? tree.parent[node] ?? -1 : node);
  });
  view.addEventListener("mousemove", (event) => {
    const node = within(event), tip = by("tip");
    tip.hidden = node < 0;
    if (node >= 0) {
      const name = document.createElement("b");
      name.textContent = data.names[tree.symbol[node]];
      tip.replaceChildren(name, describe(node));
      const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
      tip.style.left = Math.max(4, right ? event.clientX - tip.offsetWidth - 10 : event.clientX + 14) + "px";
      const low = event.clientY + 18 + tip.offsetHeight > innerHeight;
      tip.style.top = (low ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + "px";
    }
    if (node !== hovered) { hovered = node; schedule(); }
  });
  view.addEventListener("mouseleave", () => { hovered = -1; by("tip").hidden = true; schedule(); });
  view.addEventListener("scroll", schedule, { passive: true });
  new ResizeObserver(resize).observe(view);
  by("search").addEventListener("input", (event) => find(event.target.value.trim()));
  by("reset").onclick = () => zoom(-1);
  by("inverted").onclick = () => change({ inverted: !seen.inverted });
  by("turned").onclick = () => change({ upwards: !seen.upwards });
  by("merged").onclick = () => change({ merged: !seen.merged });
  by("colours").onchange = (event) => change({ colours: event.target.value });
  for (const name of ["graph", "tree", "table"]) by("view-" + name).onclick = () => show(name);
  by("copy-stack").onclick = () => copy(false);
  by("copy-folded").onclick = () => copy(true);
  by("copy-link").onclick = async () => { by("told").textContent = await page.copy(location.href) ? "link copied" : location.href; };
  // A page of one graph takes its keys anywhere.
  const whole = document.body.classList.contains("whole");
  (whole ? document : part).addEventListener("keydown", (event) => {
    const typing = event.target === by("search"), command = event.ctrlKey || event.metaKey;
    if (command && event.key === "f" && whole || event.key === "/" && !typing) {
      event.preventDefault();
      by("search").focus();
      by("search").select();
    } else if (event.key === "Escape") {
      if (seen.words) find(""); else zoom(-1);
      (view.hidden ? by("rows") : view).focus();
    } else if (typing || command || event.altKey || event.target === by("colours")) {
      if (typing && event.key === "Enter" && !view.hidden) view.focus();
    } else if (event.key === "t") by("turned").click();
    else if (event.key === "b") by("inverted").click();
    else if (event.key === "m" && grouping) by("merged").click();
    else if (event.key === "c") copy(false);
    else if (event.key === "f") copy(true);
    else if (event.key === "0") zoom(-1);
    else if (view.hidden) return;
    else if (event.key.startsWith("Arrow")) { event.preventDefault(); walk(event.key); }
    else if (event.key === "Enter" && event.target === view && selected >= 0) zoom(selected);
  });

  const table = flameTable(by("rows"), data, {
    held, amount, share, zoom, select, show, find, idOf, nodeOf,
    tree: () => tree, hits: () => hits, selected: () => selected, shown: () => seen.shown,
    waits: (node) => growing?.pending.has(idOf(node)),
    expand: (id) => growing && growing.pending.has(id) && refined(id, Math.abs(growing.sum[id])),
  });
  by("merged").hidden = !grouping;
  // Among other parts a graph takes no more room than it needs.
  if (!whole) view.style.height = by("rows").style.height = Math.min(460, Math.max(160, (held.depths + 2) * ROW)) + "px";
  const choices = [["package", "Colours: packages"], ["category", "Colours: kinds of work"]];
  if (data.word) choices.unshift(["change", "Colours: changes"]);
  by("colours").append(...choices.map(([value, text]) => new Option(text, value)));
  addEventListener("hashchange", recall);
  recall();
});
