/* Draws a timeline. Rows go as pixels into an image, column by column, so that a frame costs the same however many
   spans there are; text, bands and lines are drawn over it. */
page.timeline.painter = (canvas, s) => {
  const { SPAN, WAIT, PAUSE, LOSS, PARTIAL_START, PARTIAL_END, FAILED, FOLDED } = page.timeline;
  const { t, data } = s, context = canvas.getContext("2d", { alpha: false });
  const FONT = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
  let ratio = 1, wide = 0, left = 0, plot = 0, high = 0, scale = 1, pitch = 7;
  let image = null, pixels = null, line = null, colour = null, cover = null, strength = null;
  let palette = [], strong = [], plain = {}, packed = {}, hatch = null;

  const pack = (r, g, b) => (0xff000000 | b << 16 | g << 8 | r) >>> 0;
  function mix(under, over, part) {
    if (part >= 1) return over;
    const channel = (shift) => {
      const a = under >>> shift & 255, b = over >>> shift & 255;
      return a + (b - a) * part & 255;
    };
    return pack(channel(0), channel(8), channel(16));
  }

  /* Colours of the theme, as words for the canvas and as numbers for the image. */
  function dress() {
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const number = (word) => {
      probe.fillStyle = word;
      probe.fillRect(0, 0, 1, 1);
      return pack(...probe.getImageData(0, 0, 1, 1).data.slice(0, 3));
    };
    for (const name of ["paper", "plot", "ink", "soft", "line", "accent", "bad", "found", "focus", "pause", "wait"]) {
      plain[name] = page.colour(name, s.part);
      packed[name] = number(plain[name]);
    }
    palette = Uint32Array.from(page.dark() ? data.dark : data.light, number);
    // What is one pixel wide must be seen: a text's colours are too pale for it.
    strong = palette.map((one) => mix(one, packed.ink, 0.4));
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const stripes = tile.getContext("2d");
    stripes.strokeStyle = plain.bad;
    stripes.lineWidth = 1.5;
    for (const x of [-6, 0, 6]) { stripes.moveTo(x, 6); stripes.lineTo(x + 6, 0); }
    stripes.stroke();
    hatch = context.createPattern(tile, "repeat");
  }

  function resize() {
    ratio = page.ratio();
    wide = canvas.width = Math.max(1, Math.round(s.wide * ratio));
    high = canvas.height = Math.max(1, Math.round(s.high * ratio));
    canvas.style.width = s.wide + "px";
    canvas.style.height = s.high + "px";
    left = Math.round(s.left * ratio);
    plot = Math.max(1, wide - left);
    image = context.createImageData(wide, high);
    pixels = new Uint32Array(image.data.buffer);
    line = new Uint32Array(plot);
    colour = new Uint32Array(plot);
    cover = new Float32Array(plot);
    strength = new Float32Array(plot);
  }

  /* Nanoseconds from the left edge of the window. */
  const since = (h, l) => (h - s.view.h) * 4294967296 + (l - s.view.l);
  const place = (h, l) => since(h, l) * scale;

  /* The first block of `count` that does not end before the window; `last` says which item a block ends with. */
  function begin(count, last) {
    let low = 0, high = count;
    while (low < high) {
      const middle = low + high >> 1, item = last(middle);
      if (since(t.eh[item], t.el[item]) < 0) low = middle + 1; else high = middle;
    }
    return low;
  }

  /* Paints a row into `colour` and `cover`; tells `box` about items that are wide enough to say more. */
  function paint(row, box) {
    cover.fill(0);
    strength.fill(0);
    const first = t.first[row], kind = data.kinds[row], least = kind === SPAN ? 0.3 : 0.9;
    let level = null;
    for (const one of t.levels[row]) if (one.pixel * scale <= 1) level = one;
    const count = level ? level.count : t.first[row + 1] - first;
    const from = level ? (block) => level.from[block] : (block) => first + block;
    for (let block = begin(count, (block) => from(block + 1) - 1); block < count; block++) {
      const item = from(block), end = from(block + 1) - 1;
      const x = place(t.sh[item], t.sl[item]);
      if (x >= plot) break;
      const to = place(t.eh[end], t.el[end]), shown = level ? level.pick[block] : item;
      const found = s.hits && s.hits[end + 1] > s.hits[item];
      const failed = t.flags[shown] & FAILED;
      let paintwork = kind === PAUSE ? packed.pause : kind === LOSS ? packed.bad : kind === WAIT ? packed.wait : (kind === SPAN ? palette : strong)[data.colours[t.name[shown]]];
      if (found) paintwork = packed.found;
      else if (s.hits) paintwork = mix(packed.plot, paintwork, 0.45);
      if (to - x >= 2) {
        const a = Math.max(0, Math.round(x)), b = Math.min(plot, Math.max(Math.round(to), a + 1));
        if (b <= a) continue;
        colour.fill(paintwork, a, b);
        cover.fill(t.flags[shown] & FOLDED ? 0.6 : 1, a, b);
        strength.fill(Infinity, a, b);
        if (b - a > 3 && b < plot) cover[b - 1] = 0;
        if (box && b - a > 5) box(shown, a, b, found);
        continue;
      }
      if (failed && !found) paintwork = packed.bad;
      const filled = level ? level.filled[block] / 255 : 1;
      for (let c = Math.max(0, Math.floor(x)); c < plot && c <= to; c++) {
        const part = Math.max(0, Math.min(to, c + 1) - Math.max(x, c)) * filled;
        cover[c] = found ? 1 : Math.min(1, Math.max(cover[c] + part, least));
        const weight = found ? Infinity : part + 1e-6;
        if (weight > strength[c]) { strength[c] = weight; colour[c] = paintwork; }
      }
    }
    // One that stands alone.
    if (kind !== SPAN) return;
    for (let c = 0; c < plot; c++) {
      if (!cover[c] || strength[c] === Infinity || (c > 0 && cover[c - 1]) || (c + 1 < plot && cover[c + 1])) continue;
      cover[c] = Math.max(cover[c], 0.8);
      colour[c] = mix(colour[c], packed.ink, 0.4);
    }
  }

  function copy(top, height) {
    for (let c = 0; c < plot; c++) line[c] = cover[c] > 0 ? mix(packed.plot, colour[c], cover[c]) : packed.plot;
    for (let y = Math.max(top, s.clip[0]); y < Math.min(top + height, s.clip[1]); y++) pixels.set(line, y * wide + left);
  }

  /* A counter as steps: each value holds until the next. */
  function chart(counter, top, height) {
    const { count, th, tl, value, least, most } = counter;
    if (!count) return;
    const range = most - least || 1;
    const y = (v) => Math.round((1 - (most > least ? (v - least) / range : 0.5)) * (height - 2));
    const area = mix(packed.plot, packed.accent, 0.25);
    let low = 0, high = count;
    while (low < high) {
      const middle = low + high >> 1;
      if (since(th[middle], tl[middle]) < 0) low = middle + 1; else high = middle;
    }
    let point = low, held = point > 0 ? value[point - 1] : NaN;
    for (let c = 0; c < plot; c++) {
      let smallest = held, largest = held;
      while (point < count && place(th[point], tl[point]) < c + 1) {
        held = value[point++];
        if (!(smallest <= held)) smallest = held;
        if (!(largest >= held)) largest = held;
      }
      if (Number.isNaN(largest)) continue;
      const above = y(largest), below = y(smallest);
      for (let row = Math.max(0, above); row < height; row++) {
        const at = top + row;
        if (at >= s.clip[0] && at < s.clip[1]) pixels[at * wide + left + c] = row <= below + ratio - 1 ? packed.accent : area;
      }
    }
  }

  const px = (value) => Math.round(value * ratio);
  const clipText = (text, room) => room < 2 ? "" : text.length <= room ? text : text.slice(0, room - 1) + "…";

  /* A name as much of it as there is room for: its end says more than its packages. */
  function fit(text, room) {
    for (let parts = 2; text.length > room && parts > 0; parts--) {
      const short = text.split(/(?<=[.\/:])/).slice(-parts).join("");
      if (short.length <= room || parts === 1) text = short;
    }
    return clipText(text, room);
  }

  /* Lines between `clip`, moved up by `scroll`. */
  function lines(list, scroll) {
    const texts = [];
    for (const one of list) {
      const top = px(one.top - scroll);
      if (top > s.clip[1]) break;
      if (top + px(one.height) < s.clip[0]) continue;
      if (one.counter) { chart(one.counter, top + px(3), px(one.height - 6)); continue; }
      for (const row of one.rows) {
        const y = top + px(row.top), height = px(row.height);
        if (y + height < s.clip[0] || y > s.clip[1]) continue;
        paint(row.row, (item, a, b, found) => texts.push(item, a, b, y, height, found, data.kinds[row.row]));
        copy(y, height - 1);
      }
    }
    return texts;
  }

  function write(texts) {
    context.font = `${px(11)}px ${FONT}`;
    pitch = context.measureText("m").width || 7;
    context.textBaseline = "middle";
    for (let i = 0; i < texts.length; i += 7) {
      const [item, a, b, y, height, found, kind] = texts.slice(i, i + 7), flags = t.flags[item];
      const end = px(9);
      if (flags & FAILED) { context.fillStyle = plain.bad; context.fillRect(left + a, y + height - px(3), b - a - 1, px(2)); }
      context.fillStyle = hatch;
      if (flags & PARTIAL_START) context.fillRect(left + a, y, Math.min(end, b - a), height - 1);
      if (flags & PARTIAL_END) context.fillRect(left + Math.max(a, b - end), y, Math.min(end, b - a), height - 1);
      if (kind === LOSS) context.fillRect(left + a, y, b - a, height - 1);
      if (b - a < px(22) || height < px(12)) continue;
      const text = fit(s.label(item), Math.floor((b - a - px(6)) / pitch));
      context.fillStyle = found ? "#fff" : plain.ink;
      if (text) context.fillText(text, left + a + px(4), y + height / 2);
    }
  }

  /* Bands of pauses and losses across the lines of their recording. */
  function bands(list, scroll) {
    const reach = new Map();
    for (const one of list) {
      const top = Math.max(px(one.top - scroll), s.clip[0]), bottom = Math.min(px(one.top + one.height - scroll), s.clip[1]);
      if (bottom <= top) continue;
      const known = reach.get(one.source);
      reach.set(one.source, known ? [Math.min(known[0], top), Math.max(known[1], bottom)] : [top, bottom]);
    }
    for (const [source, [top, bottom]] of reach) {
      for (const row of s.bands[source] || []) {
        paint(row, null);
        const lost = data.kinds[row] === LOSS;
        context.fillStyle = lost ? hatch : plain.pause;
        context.globalAlpha = lost ? 0.5 : 0.16;
        for (let c = 0; c < plot; c++) {
          if (!cover[c]) continue;
          const start = c;
          while (c < plot && cover[c]) c++;
          context.fillRect(left + start, top, Math.max(c - start, lost ? px(3) : 1), bottom - top);
        }
        context.globalAlpha = 1;
      }
    }
  }

  function gutter(list, scroll) {
    context.font = `${px(12)}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    for (const one of list) {
      const top = px(one.top - scroll), bottom = top + px(one.height);
      if (bottom < s.clip[0] || top > s.clip[1]) continue;
      context.fillStyle = plain.line;
      context.fillRect(0, bottom - 1, wide, 1);
      const y = Math.max(top, s.clip[0]) + px(Math.min(10, one.height / 2));
      context.save();
      context.beginPath();
      context.rect(0, Math.max(top, s.clip[0]), left - px(4), Math.min(bottom, s.clip[1]) - Math.max(top, s.clip[0]));
      context.clip();
      if (one.key) {
        context.fillStyle = s.pinned.includes(one.key) ? plain.accent : plain.soft;
        context.fillText(s.pinned.includes(one.key) ? "◆" : "◇", px(3), y);
      }
      const indent = px(18 + 10 * Math.min(one.level, 6));
      context.fillStyle = !one.key ? plain.soft : one.key === s.track ? plain.accent : plain.ink;
      context.fillText((one.folds ? one.folded ? "▸ " : "▾ " : "") + one.name, one.key ? indent : px(3), y);
      if (one.note && one.height > 26) { context.fillStyle = plain.soft; context.fillText(one.note, indent, y + px(15)); }
      context.restore();
    }
  }

  function axis() {
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, wide, px(s.head));
    context.font = `${px(11)}px ${FONT}`;
    context.textBaseline = "middle";
    for (const tick of s.ticks(plot / ratio)) {
      const x = left + Math.round(tick.at * ratio);
      context.fillStyle = plain.line;
      context.fillRect(x, px(s.head - 8), 1, px(8));
      context.fillStyle = plain.soft;
      context.fillText(tick.text, x + px(3), px(s.head - 13));
    }
    context.fillStyle = plain.paper;
    context.fillRect(0, 0, left, px(s.head));
    context.fillStyle = plain.soft;
    context.fillText(clipText(s.corner(), Math.floor((left - px(6)) / pitch)), px(4), px(s.head - 13));
    const [start, part] = s.share();
    context.fillStyle = plain.line;
    context.fillRect(left, px(s.head) - px(3), plot, px(3));
    context.fillStyle = plain.accent;
    context.fillRect(left + start * plot, px(s.head) - px(3), Math.max(part * plot, px(2)), px(3));
  }

  function outline(item, list, scroll, strong) {
    const spot = s.spot(item, list);
    if (!spot) return;
    const x = Math.max(place(t.sh[item], t.sl[item]), -4), to = Math.min(place(t.eh[item], t.el[item]), plot + 4);
    if (to < 0 || x > plot) return;
    context.strokeStyle = plain.focus;
    context.lineWidth = strong ? px(2) : 1;
    context.strokeRect(left + x, px(spot.top - scroll), Math.max(to - x - 1, px(2)), px(spot.height) - 1);
  }

  function marks() {
    const ends = s.measured.filter(Boolean).map(({ h, l }) => left + place(h, l));
    if (!ends.length) return;
    context.fillStyle = plain.accent;
    for (const x of ends) context.fillRect(Math.round(x), 0, 1, high);
    if (ends.length < 2) return;
    const [a, b] = ends.map((x) => Math.min(Math.max(x, left), wide)).sort((a, b) => a - b);
    context.globalAlpha = 0.12;
    context.fillRect(a, px(s.head), b - a, high);
    context.globalAlpha = 1;
    context.font = `${px(12)}px ${FONT}`;
    const text = s.distance(), room = context.measureText(text).width;
    const x = Math.min(Math.max((a + b - room) / 2, left + px(4)), wide - room - px(4));
    context.fillStyle = plain.paper;
    context.fillRect(x - px(4), px(s.head + 4), room + px(8), px(18));
    context.fillStyle = plain.accent;
    context.fillText(text, x, px(s.head + 13));
  }

  function draw() {
    scale = plot / s.view.span;
    pixels.fill(packed.plot);
    // Pinned lines stay below the axis; the others pass under them.
    const pinned = [px(s.head), px(s.head + s.pinnedHeight)], below = [pinned[1], high];
    const areas = [[s.pinnedLines, -s.head, pinned], [s.lines, s.scroll - s.head - s.pinnedHeight, below]];
    const texts = areas.map(([list, scroll, clip]) => { s.clip = clip; return lines(list, scroll); });
    context.putImageData(image, 0, 0);
    areas.forEach(([list, scroll, clip], area) => {
      s.clip = clip;
      context.save();
      context.beginPath();
      context.rect(left, clip[0], plot, clip[1] - clip[0]);
      context.clip();
      write(texts[area]);
      bands(list, scroll);
      if (s.hovered >= 0) outline(s.hovered, list, scroll, false);
      if (s.selected >= 0) outline(s.selected, list, scroll, true);
      context.restore();
      context.fillStyle = plain.paper;
      context.fillRect(0, clip[0], left, clip[1] - clip[0]);
      context.save();
      context.beginPath();
      context.rect(0, clip[0], wide, clip[1] - clip[0]);
      context.clip();
      gutter(list, scroll);
      context.restore();
    });
    if (s.pinnedLines.length) { context.fillStyle = plain.accent; context.fillRect(0, pinned[1] - 1, wide, px(1)); }
    axis();
    marks();
  }

  return { dress, resize, draw, place: (h, l) => place(h, l) / ratio };
};
