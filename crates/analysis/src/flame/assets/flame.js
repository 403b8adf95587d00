page.part("flame", (part, data) => {
  const by = (name) => part.querySelector("." + name);
  const { grouped } = page;
  const amount = (value) => page.amount(data.unit, value, data.unit_name);
  const remembered = page.state(part);
  const ROW = 19, GAP = 1, LEAST = 0.5;
  const count = data.symbol.length;
  const symbol = Int32Array.from(data.symbol), depth = Int32Array.from(data.depth);
  const sum = Float64Array.from(data.sum), own = Float64Array.from(data.own);
  const end = new Int32Array(count), parent = new Int32Array(count).fill(-1);
  // Left edge and width of each node as shares of the whole.
  const left = new Float64Array(count), width = new Float64Array(count);
  const fill = (node) => steps ? steps[data.step[node]] : palette[data.colours[symbol[node]]];
  const label = (s) => data.labels[s] || data.names[s];
  let depths = 0;

  /* Nodes come callers first: one pass finds parents and ends, one lays out. */
  function link() {
    const open = [];
    for (let node = 0; node < count; node++) {
      while (open.length > depth[node]) end[open.pop()] = node;
      parent[node] = open.length ? open[open.length - 1] : -1;
      open.push(node);
      if (depth[node] >= depths) depths = depth[node] + 1;
    }
    while (open.length) end[open.pop()] = count;
    const below = new Float64Array(count + 1), next = new Float64Array(count + 1);
    for (let node = 0; node < count; node++) below[parent[node] + 1] += Math.max(sum[node], 0);
    for (let node = 0; node < count; node++) {
      const p = parent[node];
      const value = p < 0 ? Math.max(data.total, 0) : Math.max(sum[p], 0);
      const room = p < 0 ? 1 : width[p];
      // Callees that overlapped can exceed their caller: they are narrowed together.
      width[node] = Math.max(sum[node], 0) * room / Math.max(value, below[p + 1], 1);
      left[node] = (p < 0 ? 0 : left[p]) + next[p + 1];
      next[p + 1] += width[node];
    }
  }
  link();

  let zoomed = -1, selected = -1, hovered = -1, upwards = data.upwards, words = "", hits = null;
  const view = by("view"), canvas = part.querySelector("canvas"), context = canvas.getContext("2d");
  let steps = data.light_steps, palette = data.light, colours = {}, pitch = 7, frame = 0;

  function theme() {
    palette = page.dark() ? data.dark : data.light;
    steps = page.dark() ? data.dark_steps : data.light_steps;
    for (const key of ["paper", "ink", "soft", "all", "found", "focus"]) colours[key] = page.colour(key, part);
    resize();
  }
  page.onRedraw(theme);

  const share = (value) => data.shares && data.total ? `${(value * 100 / data.total).toFixed(2)} %` : "";

  function describe(node) {
    if (node < 0) return `all: ${amount(data.total)}`;
    const parts = [amount(sum[node]), share(sum[node]), `self ${amount(own[node])} ${share(own[node])}`.trim()];
    if (data.count[node]) parts.push(`${grouped(data.count[node])} ${data.source}`);
    if (data.was) {
      const was = data.was[node];
      const change = was ? `${amount(was)}, self ${amount(data.was_own[node])} (${((sum[node] - was) * 100 / Math.abs(was)).toFixed(1)} %)` : "none";
      parts.push(`${data.word}: ${change}`);
    }
    const place = data.places[symbol[node]];
    if (place) parts.push(place);
    return parts.filter(Boolean).join(" · ");
  }

  /* What the window shows: shares [from, from + span). */
  const span = () => zoomed < 0 ? [0, 1] : [left[zoomed], width[zoomed] || 1];

  function resize() {
    const ratio = page.ratio();
    canvas.width = Math.max(1, Math.round(view.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(view.clientHeight * ratio));
    canvas.style.width = view.clientWidth + "px";
    canvas.style.height = view.clientHeight + "px";
    by("room").style.height = (depths + 1) * ROW + "px";
    draw();
  }

  const rowTop = (level) => {
    const height = Math.max((depths + 1) * ROW, view.clientHeight);
    return (upwards ? height - (level + 1) * ROW : level * ROW) - view.scrollTop;
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
      context.fillStyle = node >= 0 && hits && hits[symbol[node]] ? "#fff" : colours.ink;
      context.fillText(text.length <= room ? text : text.slice(0, room - 1) + "…", x + 4, y + ROW / 2);
    }
  }

  function draw() {
    frame = 0;
    const ratio = page.ratio(), wide = view.clientWidth, high = view.clientHeight;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, wide, high);
    context.font = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
    context.textBaseline = "middle";
    pitch = context.measureText("m").width || 7;
    const [from, range] = span(), scale = wide / range;
    box(0, rowTop(0), wide, colours.all, `all  ${amount(data.total)}`, -1);
    for (let node = 0; node < count;) {
      const w = width[node] * scale, x = (left[node] - from) * scale;
      // A subtree beside the window or thinner than half a pixel is skipped as a whole.
      if (w < LEAST || x >= wide || x + w <= 0) { node = end[node]; continue; }
      const y = rowTop(depth[node] + 1);
      if (y > -ROW && y < high) {
        const a = Math.max(x, 0), b = Math.min(x + w, wide);
        const found = hits && hits[symbol[node]];
        context.globalAlpha = zoomed >= 0 && depth[node] < depth[zoomed] ? 0.5 : hits && !found ? 0.55 : 1;
        box(a, y, b - a, found ? colours.found : fill(node), label(symbol[node]), node);
      } else if (upwards ? y <= -ROW : y >= high) { node = end[node]; continue; }
      node++;
    }
    context.globalAlpha = 1;
  }
  function schedule() { if (!frame) frame = requestAnimationFrame(draw); }

  /* The node under a point: down the levels, children are few enough to walk. */
  function at(x, y) {
    const [from, range] = span();
    const place = from + x / view.clientWidth * range;
    const height = Math.max((depths + 1) * ROW, view.clientHeight);
    const down = y + view.scrollTop;
    const level = Math.floor((upwards ? height - down : down) / ROW) - 1;
    if (level < 0) return -1;
    for (let node = 0; node < count;) {
      if (place < left[node] || place >= left[node] + width[node]) { node = end[node]; continue; }
      if (depth[node] === level) return node;
      node++;
    }
    return -2;
  }

  function zoom(node) {
    zoomed = node;
    if (node >= 0) selected = node;
    by("reset").disabled = node < 0;
    const path = by("path");
    path.textContent = "";
    const callers = [];
    for (let up = node; up >= 0; up = parent[up]) callers.push(up);
    // The nearest callers matter; the picture above shows the others.
    if (callers.length > 8) path.append("… ");
    for (const caller of callers.slice(0, 8).reverse()) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label(symbol[caller]);
      button.onclick = () => zoom(caller);
      path.append(path.lastChild instanceof Element ? " › " : "", button);
    }
    reveal(node < 0 ? 0 : depth[node] + 1);
    tell(node);
    remember();
    schedule();
  }

  function reveal(level) {
    const top = rowTop(level);
    if (top < 0) view.scrollTop += top - ROW;
    else if (top + ROW > view.clientHeight) view.scrollTop += top + 2 * ROW - view.clientHeight;
  }

  function tell(node) {
    by("details").textContent = node < 0 ? describe(-1) : `${data.names[symbol[node]]}: ${describe(node)}`;
  }

  function find(text) {
    words = text;
    if (by("search").value !== text) by("search").value = text;
    hits = null;
    let matched = "";
    if (text) {
      let test;
      try { const expression = new RegExp(text, "i"); test = (name) => expression.test(name); }
      catch { const plain = text.toLowerCase(); test = (name) => name.toLowerCase().includes(plain); }
      hits = Uint8Array.from(data.names, (name) => test(name) ? 1 : 0);
      // Outermost matches only: a recursion counts once, as in the tables.
      let total = 0, frames = 0;
      for (let node = 0, skip = 0; node < count; node++) {
        if (!hits[symbol[node]]) continue;
        frames++;
        if (node >= skip) { total += sum[node]; skip = end[node]; }
      }
      matched = `${amount(total)} ${share(total)} · ${grouped(frames)} frames`;
    }
    by("matched").textContent = matched;
    remember();
    if (!by("rows").hidden) table();
    schedule();
  }

  function remember() {
    remembered.set({ z: zoomed >= 0 ? zoomed : null, s: words, t: upwards !== data.upwards ? 1 : null });
  }

  /* The same totals as a table: self, total, count; recursions count at their outermost frame. */
  let order = "own", tops = null;
  function totals() {
    const rows = data.names.map((_, s) => ({ s, own: 0, sum: 0, count: 0 }));
    const open = new Int32Array(rows.length), path = [];
    for (let node = 0; node < count; node++) {
      while (path.length > depth[node]) open[path.pop()]--;
      const s = symbol[node], row = rows[s];
      row.own += own[node];
      row.count += data.count[node];
      if (open[s]++ === 0) row.sum += sum[node];
      path.push(s);
    }
    return rows;
  }
  function table() {
    tops = tops || totals();
    const rows = tops.filter((row) => !hits || hits[row.s]).sort((a, b) => b[order] - a[order] || b.sum - a.sum).slice(0, 500);
    const head = [["own", "self"], ["own", "%"], ["sum", "total"], ["sum", "%"], ["count", data.source]];
    const view = document.createElement("table");
    const line = view.createTHead().insertRow();
    const title = (text, key) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (key) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = text;
        button.onclick = () => { order = key; table(); };
        cell.append(button);
        cell.ariaSort = key === order ? "descending" : "none";
      } else cell.textContent = text;
      line.append(cell);
    };
    for (const [key, text] of head) title(text, key);
    title("function");
    const body = view.createTBody();
    for (const row of rows) {
      const cells = body.insertRow();
      for (const text of [amount(row.own), share(row.own), amount(row.sum), share(row.sum), grouped(row.count)]) cells.insertCell().textContent = text;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = data.names[row.s];
      button.onclick = () => { find("^" + data.names[row.s].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$"); show(false); };
      cells.insertCell().append(button);
    }
    by("rows").replaceChildren(view);
  }
  function show(rows) {
    by("rows").hidden = !rows;
    view.hidden = rows;
    by("as-table").setAttribute("aria-pressed", rows);
    if (rows) table(); else resize();
  }

  function turn(over) {
    upwards = over;
    by("turn").setAttribute("aria-pressed", upwards);
    view.scrollTop = upwards ? view.scrollHeight : 0;
    remember();
    schedule();
  }

  function walk(key) {
    const deeper = upwards ? "ArrowUp" : "ArrowDown", higher = upwards ? "ArrowDown" : "ArrowUp";
    let to = -1;
    if (selected < 0) to = count ? 0 : -1;
    else if (key === deeper) to = end[selected] > selected + 1 ? selected + 1 : selected;
    else if (key === higher) to = parent[selected];
    else {
      const first = parent[selected] + 1, last = parent[selected] < 0 ? count : end[parent[selected]];
      to = selected;
      if (key === "ArrowRight") { if (end[selected] < last) to = end[selected]; }
      else for (let node = first; node < selected; node = end[node]) to = node;
    }
    if (to < 0) return;
    selected = to;
    const [from, range] = span();
    if (left[to] + width[to] <= from || left[to] >= from + range || depth[to] < (zoomed < 0 ? 0 : depth[zoomed])) zoom(to);
    reveal(depth[to] + 1);
    tell(to);
    schedule();
  }

  function stack(node) {
    const lines = [];
    for (let up = node; up >= 0; up = parent[up]) lines.push(data.names[symbol[up]]);
    return lines.join("\n");
  }

  view.addEventListener("click", (event) => {
    const bounds = view.getBoundingClientRect();
    const node = at(event.clientX - bounds.left, event.clientY - bounds.top);
    if (node >= -1) zoom(node === zoomed ? parent[node] ?? -1 : node);
  });
  view.addEventListener("mousemove", (event) => {
    const bounds = view.getBoundingClientRect();
    const node = at(event.clientX - bounds.left, event.clientY - bounds.top);
    const tip = by("tip");
    tip.hidden = node < 0;
    if (node >= 0) {
      const name = document.createElement("b");
      name.textContent = data.names[symbol[node]];
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
  by("search").addEventListener("input", (event) => find(event.target.value.trim()));
  by("reset").onclick = () => zoom(-1);
  by("turn").onclick = () => turn(!upwards);
  by("as-table").onclick = () => show(by("rows").hidden);
  addEventListener("resize", resize);
  addEventListener("keydown", (event) => {
    const typing = event.target === by("search");
    if ((event.ctrlKey || event.metaKey) && event.key === "f" || event.key === "/" && !typing) {
      event.preventDefault();
      by("search").focus();
      by("search").select();
    } else if (event.key === "Escape") {
      if (words) find(""); else zoom(-1);
      view.focus();
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey || view.hidden) {
      if (typing && event.key === "Enter") view.focus();
    } else if (event.key.startsWith("Arrow")) { event.preventDefault(); walk(event.key); }
    else if (event.key === "Enter" && event.target === view && selected >= 0) zoom(selected);
    else if (event.key === "0") zoom(-1);
    else if (event.key === "t") turn(!upwards);
    else if (event.key === "c" && selected >= 0) {
      page.copy(stack(selected)).then((done) => { by("details").textContent = done ? "stack copied" : "this browser does not let pages copy"; });
    }
  });

  if (remembered.get("t")) upwards = !upwards;
  by("turn").setAttribute("aria-pressed", upwards);
  theme();
  view.scrollTop = upwards ? view.scrollHeight : 0;
  if (remembered.get("s")) find(remembered.get("s"));
  const place = remembered.get("z");
  if (place !== null && +place < count) zoom(+place);
  draw();
});
