/** A column of numbers: digits of five bits, the lowest first, a sixth for "more follows", the sign lowest. */
const DIGIT = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((letter, value) => {
  DIGIT[letter.charCodeAt(0)] = value;
});

/** Reads a column as `page::json` writes it. */
export function numbers(text: string): Float64Array {
  const list = new Float64Array(text.length);
  let size = 0;
  for (let i = 0; i < text.length; i++) {
    let digit = DIGIT[text.charCodeAt(i)];
    let value = digit & 31;
    let place = 5;
    for (; digit & 32 && place < 30; place += 5) {
      digit = DIGIT[text.charCodeAt(++i)];
      value |= (digit & 31) << place;
    }
    if (digit & 32) {
      // More than operators on bits hold.
      const negative = value & 1;
      let large = value >>> 1;
      for (let scale = 2 ** 29; digit & 32; scale *= 32) {
        digit = DIGIT[text.charCodeAt(++i)];
        large += (digit & 31) * scale;
      }
      list[size++] = negative ? -large - 1 : large;
    } else list[size++] = (value >>> 1) ^ -(value & 1);
  }
  return list.slice(0, size);
}
