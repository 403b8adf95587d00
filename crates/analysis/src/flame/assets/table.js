/* The twins of the graph in rows, for keyboards and screen readers: the functions, and the tree. */
const flameTable = (place, data, graph) => {
  // Rows at once; buttons bring more.
  const MANY = 500;
  const { amount, share } = graph;
  const named = (tag, text, kind) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const button = (text, press) => {
    const element = named("button", text);
    element.type = "button";
    element.onclick = press;
    return element;
  };

  /* Functions with the sums of `top`: of what calls itself, the outermost frame counts. */
  let sums = null;
  function totals() {
    const { held } = graph, rows = data.names.map((_, s) => ({ s, own: null, sum: null, count: 0, met: false }));
    const join = { sum: (a, b) => a + b, min: Math.min, max: Math.max }[data.merge];
    const open = new Int32Array(rows.length), path = [];
    for (let node = 0; node < held.size; node++) {
      while (path.length > held.depth[node]) open[path.pop()]--;
      const s = held.symbol[node], row = rows[s], calls = held.calls[node];
      const outermost = open[s]++ === 0;
      path.push(s);
      // A value that nobody recorded has no part in a minimum or maximum.
      if (data.merge === "sum" || calls || !row.met) row.own = row.own === null || data.merge !== "sum" && !row.count ? held.own[node] : join(row.own, held.own[node]);
      if (outermost || data.merge !== "sum") row.sum = row.sum === null ? held.sum[node] : join(row.sum, held.sum[node]);
      row.count += calls;
      row.met = true;
    }
    return rows.filter((row) => row.met && !data.group[row.s]);
  }
  const ORDERS = { own: "self", sum: "total", count: data.source, name: "function" };
  let order = "own", falling = true, most = MANY;
  function functions() {
    sums ??= totals();
    const hits = graph.hits();
    const name = (row) => data.names[row.s];
    const first = { name: (a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0 }[order] ?? ((a, b) => a[order] - b[order]);
    const rows = sums.filter((row) => !hits || hits[row.s]);
    rows.sort((a, b) => (falling ? -1 : 1) * first(a, b) || b.own - a.own || b.sum - a.sum || (name(a) < name(b) ? -1 : 1));
    const table = document.createElement("table"), line = table.createTHead().insertRow(), body = table.createTBody();
    for (const key of ["own", "own%", "sum", "sum%", "count", "name"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (key === "name") cell.className = "text";
      if (key.endsWith("%")) cell.append(named("span", `${ORDERS[key.slice(0, -1)]} %`));
      else {
        cell.append(button(ORDERS[key], () => {
          falling = order === key ? !falling : key !== "name";
          order = key;
          functions();
          place.querySelector("th[aria-sort]:not([aria-sort=none]) button")?.focus();
        }));
        cell.ariaSort = key !== order ? "none" : falling ? "descending" : "ascending";
      }
      line.append(cell);
    }
    for (const row of rows.slice(0, most)) {
      const cells = body.insertRow();
      for (const text of [amount(row.own), share(row.own), amount(row.sum), share(row.sum), page.grouped(row.count)]) cells.append(named("td", text));
      const cell = named("td", "", "text name");
      cell.append(button(name(row), () => { graph.find("^" + name(row).replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$"); graph.show("graph"); }));
      cells.append(cell);
    }
    place.replaceChildren(table);
    if (rows.length > most) place.append(button(`Show more of ${page.grouped(rows.length)} functions`, () => { most += MANY; functions(); }));
  }

  /* The tree as a grid whose rows open: right opens, left closes or goes to the caller, Enter zooms the graph. */
  let body = null;
  const childrenOf = (node) => {
    const { end, size } = graph.tree(), list = [], last = node < 0 ? size : end[node];
    for (let child = node + 1; child < last; child = end[child]) list.push(child);
    return list;
  };
  const levelOf = (row) => +row.getAttribute("aria-level");
  const isOpen = (row) => row.getAttribute("aria-expanded") === "true";
  function rowsOf(node, from) {
    const tree = graph.tree(), all = childrenOf(node), hits = graph.hits();
    const rows = all.slice(from, from + MANY).map((child, i) => {
      const row = document.createElement("tr"), s = tree.symbol[child];
      row.role = "row";
      row.tabIndex = -1;
      row.dataset.id = graph.idOf(child);
      row.setAttribute("aria-level", tree.depth[child] + 1);
      row.setAttribute("aria-setsize", all.length);
      row.setAttribute("aria-posinset", from + i + 1);
      // In a tree that grows a row may turn out to have no callers once it is opened.
      const leaf = tree.end[child] === child + 1 && !graph.waits(child);
      if (!leaf) row.setAttribute("aria-expanded", "false");
      if (hits && hits[s]) row.className = "found";
      const name = named("td", "", "text name"), twist = named("span", leaf ? "" : "▸", "twist");
      twist.ariaHidden = "true";
      name.style.paddingLeft = `${10 + Math.min(tree.depth[child], 60) * 14}px`;
      name.append(twist, data.names[s]);
      row.append(name);
      for (const text of [amount(tree.sum[child]), share(tree.sum[child]), amount(tree.own[child]), share(tree.own[child]), page.grouped(tree.calls[child])]) row.append(named("td", text));
      for (const cell of row.cells) cell.role = "gridcell";
      return row;
    });
    if (all.length > from + MANY) {
      const row = document.createElement("tr"), cell = named("td", "", "text");
      row.setAttribute("aria-level", node < 0 ? 1 : tree.depth[node] + 2);
      row.role = "row";
      cell.role = "gridcell";
      cell.colSpan = 6;
      const id = graph.idOf(node);
      cell.append(button(`Show more of ${page.grouped(all.length)}`, () => {
        const more = rowsOf(graph.nodeOf(id), from + MANY);
        row.replaceWith(...more);
        focus(more[0]);
      }));
      row.append(cell);
      rows.push(row);
    }
    return rows;
  }
  function open(row) {
    if (row.getAttribute("aria-expanded") !== "false") return;
    const id = +row.dataset.id;
    graph.expand(id);
    const rows = rowsOf(graph.nodeOf(id), 0);
    row.setAttribute("aria-expanded", "true");
    row.querySelector(".twist").textContent = rows.length ? "▾" : "";
    row.after(...rows);
  }
  function close(row) {
    row.setAttribute("aria-expanded", "false");
    row.querySelector(".twist").textContent = "▸";
    while (row.nextElementSibling && levelOf(row.nextElementSibling) > levelOf(row)) row.nextElementSibling.remove();
  }
  function focus(row, quietly) {
    if (!row) return;
    body.querySelector("[tabindex='0']")?.setAttribute("tabindex", -1);
    row.tabIndex = 0;
    if (!quietly) (row.querySelector("button") ?? row).focus();
    if (row.dataset.id) graph.select(graph.nodeOf(+row.dataset.id));
  }
  function keys(event) {
    const row = event.target.closest("tr");
    const caller = () => { let up = row; while (up && levelOf(up) >= levelOf(row)) up = up.previousElementSibling; return up; };
    const moves = {
      ArrowDown: () => focus(row.nextElementSibling),
      ArrowUp: () => focus(row.previousElementSibling),
      Home: () => focus(body.firstElementChild),
      End: () => focus(body.lastElementChild),
      ArrowRight: () => isOpen(row) ? focus(row.nextElementSibling) : open(row),
      ArrowLeft: () => isOpen(row) ? close(row) : focus(caller()),
      Enter: () => { if (row.dataset.id) { graph.zoom(graph.nodeOf(+row.dataset.id)); graph.show("graph"); } },
    };
    if (!moves[event.key] || event.target.closest("button") && event.key === "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }
  function grid() {
    const table = document.createElement("table"), line = table.createTHead().insertRow();
    table.role = "treegrid";
    table.ariaLabel = "Tree of calls. Right opens a row, left closes it, Enter zooms the graph.";
    line.role = "row";
    for (const text of ["function", "total", "total %", "self", "self %", data.source]) {
      const cell = named("th", text, text === "function" ? "text" : "");
      cell.role = "columnheader";
      line.append(cell);
    }
    body = table.createTBody();
    body.append(...rowsOf(-1, 0));
    place.replaceChildren(table);
    // Down to the frame that is selected in the graph, or along the widest callees.
    const tree = graph.tree(), way = [];
    let last = graph.selected();
    if (last < 0) for (let node = 0; node < tree.size && (node === 0 || tree.sum[node] * 2 >= tree.sum[tree.parent[node]]) && tree.parent[node] === last; node++) last = node;
    for (let up = last; up >= 0; up = tree.parent[up]) way.unshift(graph.idOf(up));
    let row = body.firstElementChild;
    for (const id of way) {
      const found = body.querySelector(`[data-id="${id}"]`);
      if (!found) break;
      if (id !== way.at(-1)) open(found);
      row = found;
    }
    if (row) {
      focus(row, true);
      row.scrollIntoView({ block: "nearest" });
    }
    table.addEventListener("keydown", keys);
    table.addEventListener("click", (event) => {
      const row = event.target.closest("tbody tr");
      if (!row?.dataset.id) return;
      focus(row);
      if (isOpen(row)) close(row); else open(row);
    });
  }

  const show = (shown) => shown === "tree" ? grid() : functions();
  return { show, update: () => { if (graph.shown() !== "graph") show(graph.shown()); } };
};
