/* The bytes of a timeline as columns. Times are whole nanoseconds of 64 bits, in two halves: `sh` and `sl` of the
   start, `eh` and `el` of the end, counted from time zero of the page. */
page.timeline = {
  COVERED: 8, DETAIL: 16, FOLDED: 32, PARTIAL_START: 1, PARTIAL_END: 2, FAILED: 4,
  PAUSE: 0, LOSS: 1, SPAN: 2, WAIT: 3, EVENT: 4, SAMPLE: 5,
  decode(data) {
    const bytes = (() => {
      if (Uint8Array.fromBase64) return Uint8Array.fromBase64(data.bits);
      const text = atob(data.bits), bytes = new Uint8Array(text.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
      return bytes;
    })();
    const numbers = new DataView(bytes.buffer);
    let at = 0, high = 0, low = 0;
    /* Reads a number of 64 bits into `high` and `low`: 28 bits, 28 bits, the rest. */
    function wide() {
      let byte = bytes[at++], part = byte & 127, shift = 7;
      high = 0; low = part;
      if (byte < 128) return;
      do { byte = bytes[at++]; part |= (byte & 127) << shift; shift += 7; } while (byte > 127 && shift < 28);
      low = part;
      if (byte < 128) return;
      part = shift = 0;
      do { byte = bytes[at++]; part |= (byte & 127) << shift; shift += 7; } while (byte > 127 && shift < 28);
      low = (low | part << 28) >>> 0; high = part >>> 4;
      if (byte < 128) return;
      part = shift = 0;
      do { byte = bytes[at++]; part |= (byte & 127) << shift; shift += 7; } while (byte > 127);
      high = (high | part << 24) >>> 0;
    }
    /* Reads a number below 2^53. */
    function number() {
      wide();
      return high * 4294967296 + low;
    }
    let total = 0;
    const first = new Uint32Array(data.counts.length + 1);
    data.counts.forEach((count, row) => { first[row] = total; total += count; });
    first[data.counts.length] = total;
    const column = () => new Uint32Array(total);
    const sh = column(), sl = column(), eh = column(), el = column(), name = column(), list = column();
    const ch = column(), cl = column(), flags = new Uint8Array(total), folded = new Map();
    const levels = [];
    for (let row = 0; row < data.counts.length; row++) {
      let h = 0, l = 0;
      const add = () => { l += low; h += high; if (l > 4294967295) { l -= 4294967296; h++; } };
      for (let i = first[row]; i < first[row + 1]; i++) {
        wide(); add(); sh[i] = h; sl[i] = l;
        wide(); add(); eh[i] = h; el[i] = l;
        name[i] = number();
        const flag = flags[i] = bytes[at++];
        if (flag & 8) { wide(); ch[i] = high; cl[i] = low; }
        if (flag & 16) list[i] = number();
        if (flag & 32) folded.set(i, number());
      }
      const own = [];
      for (let left = number(); left > 0; left--) {
        const pixel = 4 ** number(), count = number();
        const from = new Uint32Array(count + 1), pick = new Uint32Array(count), filled = new Uint8Array(count);
        let item = first[row];
        for (let block = 0; block < count; block++) {
          from[block] = item;
          item += number();
          pick[block] = from[block] + number();
          filled[block] = bytes[at++];
        }
        from[count] = item;
        own.push({ pixel, from, pick, filled, count });
      }
      levels.push(own);
    }
    const counters = data.counters.map((counter) => {
      const count = number(), th = new Uint32Array(count), tl = new Uint32Array(count), value = new Float64Array(count);
      let h = 0, l = 0, least = Infinity, most = -Infinity;
      for (let i = 0; i < count; i++) {
        wide();
        l += low; h += high;
        if (l > 4294967295) { l -= 4294967296; h++; }
        th[i] = h; tl[i] = l;
        const v = value[i] = numbers.getFloat64(at, true);
        at += 8;
        if (v < least) least = v;
        if (v > most) most = v;
      }
      return { ...counter, count, th, tl, value, least, most };
    });
    /* Where each list of attributes begins: most are never looked at. */
    const lists = new Uint32Array(data.lists + 1);
    for (let i = 1; i <= data.lists; i++) {
      lists[i] = at;
      for (let left = 2 * number(); left > 0; left--) number();
    }
    const pairs = (which) => {
      if (!which) return [];
      at = lists[which];
      return Array.from({ length: number() }, () => [data.texts[number()], data.texts[number()]]);
    };
    return { total, first, sh, sl, eh, el, ch, cl, name, list, flags, folded, levels, counters, pairs };
  },
  /* Two halves as one exact number. */
  exact: (h, l) => (BigInt(h) << 32n) + BigInt(l),
};
