/* What a timeline says in words: times, details of a span, the table of its tracks. */
page.timeline.words = (s) => {
  const { SPAN, WAIT, PAUSE, LOSS, SAMPLE, PARTIAL_START, PARTIAL_END, FAILED, FOLDED, exact } = page.timeline;
  const { t, data } = s, SECOND = 1000000000n;
  const WORDS = { [SPAN]: "span", [WAIT]: "wait", [PAUSE]: "pause", [LOSS]: "lost data", [SAMPLE]: "sample" };
  const ROWS = 500;

  const start = (item) => exact(t.sh[item], t.sl[item]);
  const length = (item) => exact(t.eh[item], t.el[item]) - start(item);
  const amount = (ns) => page.amount("ns", Number(ns));
  const commas = (ns) => ns.toString().replace(/\B(?=(\d{3})+$)/g, ",") + " ns";
  /* Three digits, and the exact number where that says more. */
  const both = (ns) => ns < 1000n ? commas(ns) : `${amount(ns)} (${commas(ns)})`;

  function iso(ns) {
    let seconds = ns / SECOND, rest = ns % SECOND;
    if (rest < 0n) { rest += SECOND; seconds -= 1n; }
    const date = new Date(Number(seconds) * 1000);
    return Number.isNaN(date.getTime()) ? `${ns} ns` : `${date.toISOString().slice(0, -5)}.${String(rest).padStart(9, "0")}Z`;
  }

  /* A time since the start with as many digits as a step of `step` needs. */
  function clock(ns, step) {
    const minus = ns < 0n ? "−" : "", at = ns < 0n ? -ns : ns;
    const [unit, word] = s.length >= SECOND ? [SECOND, "s"] : s.length >= 1000000n ? [1000000n, "ms"] : s.length >= 1000n ? [1000n, "µs"] : [1n, "ns"];
    let digits = 0;
    while (unit / 10n ** BigInt(digits) > step) digits++;
    const part = String(at % unit).padStart(String(unit).length - 1, "0").slice(0, digits);
    const decimals = digits ? "." + part : "";
    if (s.length < 120n * SECOND) return `${minus}${at / unit}${decimals} ${word}`;
    const seconds = at / SECOND, two = (n) => String(n).padStart(2, "0");
    return `${minus}${seconds / 3600n}:${two(seconds / 60n % 60n)}:${two(seconds % 60n)}${decimals}`;
  }

  const source = (item) => data.sources[s.trackOf(item).source];
  const when = (item) => {
    const since = `+${clock(start(item), 1n)}`;
    return source(item).unix ? `${iso(s.start + start(item))} (${since})` : `${since}, from the start of ${source(item).title}`;
  };
  function own(item) {
    return data.kinds[s.rowOf(item)] === SPAN && !(t.flags[item] & FOLDED) ? length(item) - exact(t.ch[item], t.cl[item]) : null;
  }

  function label(item) {
    const n = t.name[item];
    const name = data.labels[n] || data.names[n];
    return t.flags[item] & FOLDED ? `${page.grouped(t.folded.get(item))} short ones, the longest ${name}` : name;
  }
  const full = (item) => t.flags[item] & FOLDED ? label(item) : data.names[t.name[item]];

  /* An event without an end, and a sample, took no time. */
  const lasted = (item) => data.kinds[s.rowOf(item)] === SPAN || length(item) > 0n;

  /* One line about an item. */
  function describe(item) {
    const flags = t.flags[item], parts = lasted(item) ? [amount(length(item))] : [], self = own(item);
    if (self !== null && self !== length(item)) parts.push(`self ${amount(self)}`);
    if (flags & PARTIAL_START) parts.push("its start was not recorded");
    if (flags & PARTIAL_END) parts.push("its end was not recorded");
    if (flags & FAILED) parts.push("failed");
    const row = s.rowOf(item), value = data.values[row];
    const kind = WORDS[data.kinds[row]] || "event";
    if (kind !== "span") parts.unshift(value ? `${kind} (${value})` : kind);
    return parts.join(" · ");
  }

  function details(item) {
    const name = document.createElement("b"), list = document.createElement("dl");
    name.textContent = full(item);
    const add = (key, value) => {
      const pair = document.createElement("div"), named = document.createElement("dt"), said = document.createElement("dd");
      named.textContent = key;
      said.textContent = value;
      pair.className = key.length + value.length > 48 ? "long" : "";
      pair.append(named, said);
      list.append(pair);
    };
    const self = own(item), track = s.trackOf(item);
    add("start", when(item));
    if (lasted(item)) add("duration", both(length(item)));
    if (self !== null) add("self", both(self));
    add("track", track.process ? `${track.name}, ${track.process}` : track.name);
    if (t.flags[item] & FOLDED) add("left out", "shorter than what this page holds one by one");
    t.pairs(t.list[item]).forEach(([key, value]) => add(key, value));
    return [name, ` ${describe(item)}`, list];
  }

  /* A table of rows of cells: a text, or [what stands in it, its exact nanoseconds]. Columns with nothing in them stay
     out. */
  function table(heads, rows) {
    const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    const used = heads.map((_, at) => rows.some((row) => (Array.isArray(row[at]) ? row[at][0] : row[at]) !== ""));
    const lines = rows.map(() => body.insertRow());
    heads.forEach(([name, kind], at) => {
      if (!used[at] && rows.length) return;
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      if (kind) cell.className = kind;
      head.append(cell);
      rows.forEach((row, place) => {
        const cell = lines[place].insertCell(), [what, ns] = Array.isArray(row[at]) ? row[at] : [row[at]];
        cell.append(what);
        cell.dataset.of = name;
        if (ns !== undefined) cell.dataset.ns = ns;
        if (kind) cell.className = kind;
      });
    });
    return table;
  }
  function button(text, press, pressed) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    if (pressed !== undefined) button.setAttribute("aria-pressed", pressed);
    button.onclick = press;
    return button;
  }
  const title = (text) => Object.assign(document.createElement("h3"), { textContent: text });

  /* Items of the window on a track, by row. */
  function inside(track) {
    const from = s.view.h * 4294967296 + s.view.l, to = from + s.view.span, found = [];
    let count = 0;
    for (let row = track.first; row < track.first + track.rows; row++) {
      if (data.kinds[row] !== SPAN) continue;
      for (let item = t.first[row]; item < t.first[row + 1]; item++) {
        const start = t.sh[item] * 4294967296 + t.sl[item];
        if (start > to) break;
        if (t.eh[item] * 4294967296 + t.el[item] < from) continue;
        count++;
        if (found.length < ROWS) found.push([item, row]);
      }
    }
    return [found, count];
  }

  /* The tracks with their totals, and the spans of the window on the chosen one. */
  const HEADS = ["spans", "busy", "share", "longest", "waits", "waited", "pauses", "paused", "events", "samples", "partial", "failed", "losses"];
  function rows(into, actions) {
    const counted = (n) => n ? page.grouped(n) : "", took = (ns) => ns !== "0" ? [amount(ns), ns] : ["", ns];
    const several = data.sources.length > 1;
    const all = table([["track", "name"], ["recording", "word"], ["process", "word"], ["kind", "word"], ...HEADS.map((head) => [head]), ["pin"]],
      data.tracks.slice(0, ROWS).map((track) => {
        const name = button(track.name, () => actions.choose(track));
        name.style.marginLeft = `${12 * Math.min(track.level, 8)}px`;
        const share = s.length && track.spans ? `${(Number(track.busy) * 100 / Number(s.length)).toFixed(2)} %` : "";
        return [name, several ? data.sources[track.source].title : "", track.process, track.kind,
          counted(track.spans), took(track.busy), share, took(track.longest), counted(track.waits), took(track.waited),
          counted(track.pauses), took(track.paused), counted(track.events), counted(track.samples), counted(track.partial),
          counted(track.failed), counted(track.losses), button("pin", () => actions.pin(track.key), s.pinned.includes(track.key))];
      }));
    const parts = [title(`Tracks${data.tracks.length > ROWS ? `, the first ${ROWS} of ${page.grouped(data.tracks.length)}` : ""}`), all];
    const chosen = data.tracks.find((track) => track.key === s.track);
    if (chosen) {
      const [found, count] = inside(chosen);
      const list = table([["start"], ["duration"], ["self"], ["level"], ["span", "name"]], found.map(([item, row]) => {
        const self = own(item);
        return [[clock(start(item), 1n), start(item)], [amount(length(item)), length(item)], self === null ? "" : [amount(self), self],
          data.levels[row], button(full(item), () => actions.select(item))];
      }));
      const shown = count > found.length ? `, the first ${found.length} shown` : "";
      parts.push(title(`${chosen.name}: ${page.grouped(count)} spans in the window${shown}`), list);
    }
    into.replaceChildren(...parts);
  }

  return { iso, clock, amount, commas, label, full, describe, details, rows, start, length };
};
