"use strict";
/* What every part of a page uses: amounts as the tables write them, colours of the theme, state in the address. */
const page = (() => {
  const root = document.documentElement;
  const redraws = [];
  let printing = false;

  const grouped = (n) => Math.round(n).toLocaleString("en-US");
  const SCALES = {
    ns: [[6e11, 6e10, "min"], [1e9, 1e9, "s"], [1e6, 1e6, "ms"], [1e3, 1e3, "µs"], [0, 1, "ns"]],
    bytes: [[2 ** 40, 2 ** 40, "TiB"], [2 ** 30, 2 ** 30, "GiB"], [2 ** 20, 2 ** 20, "MiB"], [2 ** 10, 2 ** 10, "KiB"], [0, 1, "B"]],
  };
  /* Three digits, rounded down, as in the program's own tables; `name` is that of a unit without scales. */
  function amount(unit, value, name) {
    const scale = SCALES[unit];
    if (!scale) return name ? `${grouped(value)} ${name}` : grouped(value);
    const [, step, word] = scale.find(([from]) => Math.abs(value) >= from);
    const shown = Math.abs(value) / step;
    const cut = (digits) => (Math.floor(shown * 10 ** digits + 1e-9) / 10 ** digits).toFixed(digits);
    const text = step === 1 ? grouped(shown) : shown < 10 ? cut(2) : shown < 100 ? cut(1) : cut(0);
    return `${value < 0 ? "-" : ""}${text} ${word}`;
  }

  const dark = () => !printing && (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  /* A canvas needs the colour that a variable comes to. */
  const probe = document.createElement("i");
  probe.hidden = true;
  function colour(name, within = document.body) {
    within.append(probe);
    probe.style.color = `var(--${name})`;
    probe.style.colorScheme = dark() ? "dark" : "light";
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }
  const redraw = () => redraws.forEach((draw) => draw());
  document.querySelector("header.page .theme").onclick = () => { root.dataset.theme = dark() ? "light" : "dark"; redraw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });

  /* What the address remembers of a part; parts of a longer page have ids, which begin their keys. */
  function state(part) {
    const key = (name) => part.id ? `${part.id}.${name}` : name;
    const all = () => new URLSearchParams(location.hash.slice(1));
    return {
      get: (name) => all().get(key(name)),
      set(values) {
        const now = all();
        for (const [name, value] of Object.entries(values)) {
          if (value === null || value === "") now.delete(key(name));
          else now.set(key(name), value);
        }
        if (!location.hash && !now.size) return;
        try { history.replaceState(null, "", "#" + now); } catch { /* a page whose history is closed */ }
      },
    };
  }

  /* A column of numbers: digits of five bits, the lowest first, a sixth for "more follows", the sign lowest. */
  const DIGIT = new Uint8Array(128);
  [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((c, i) => { DIGIT[c.charCodeAt(0)] = i; });
  function numbers(text) {
    const list = new Float64Array(text.length);
    let size = 0;
    for (let i = 0; i < text.length; i++) {
      let digit = DIGIT[text.charCodeAt(i)], value = digit & 31, place = 5;
      for (; digit & 32 && place < 30; place += 5) {
        digit = DIGIT[text.charCodeAt(++i)];
        value |= (digit & 31) << place;
      }
      if (digit & 32) {
        // More than operators on bits hold.
        const negative = value & 1;
        let large = value >>> 1, scale = 2 ** 29;
        for (; digit & 32; scale *= 32) {
          digit = DIGIT[text.charCodeAt(++i)];
          large += (digit & 31) * scale;
        }
        list[size++] = negative ? -large - 1 : large;
      } else list[size++] = value >>> 1 ^ -(value & 1);
    }
    return list.slice(0, size);
  }

  return {
    numbers, grouped, amount, colour, dark, state,
    /* Sharper on paper than on the screen. */
    ratio: () => printing ? Math.max(2, devicePixelRatio || 1) : devicePixelRatio || 1,
    /* Calls `draw` again when the theme changes and before printing. */
    onRedraw: (draw) => redraws.push(draw),
    /* Starts every part of this kind; its data lies in its own script element. The mark tells measurements when the
       browser has drawn them. */
    part(kind, start) {
      for (const part of document.querySelectorAll(`[data-part="${kind}"]`)) {
        start(part, JSON.parse(part.querySelector(":scope > script[type='application/json']").textContent));
      }
      requestAnimationFrame(() => setTimeout(() => performance.mark(`${kind} drawn`)));
    },
    /* Copies text, also where a page of a file may not use the clipboard. */
    async copy(text) {
      try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: the old way */ }
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      const focus = document.activeElement;
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      focus?.focus();
      return done;
    },
  };
})();
