/*
 * A drawing on paper in strips. A canvas is one piece: where it does not fit what is left of a sheet, browsers leave that
 * empty, and cut what is higher than a sheet. Strips go from sheet to sheet.
 */

/** Takes the strips of a drawing away. */
export function dropStrips(canvas: HTMLCanvasElement): void {
  canvas.classList.remove("in-strips");
  if (canvas.nextElementSibling?.classList.contains("strips")) canvas.nextElementSibling.remove();
}

/** Cuts a drawing that is `high` pixels high into strips from each border to the next. */
export function cutStrips(canvas: HTMLCanvasElement, high: number, borders: readonly number[]): void {
  dropStrips(canvas);
  const strips = document.createElement("div");
  strips.className = "strips";
  const pixel = (border: number) => Math.round((Math.min(border, high) * canvas.height) / high);
  const all = [0, ...borders, high].map(pixel);
  for (let at = 1; at < all.length; at++) {
    const [top, size] = [all[at - 1], all[at] - all[at - 1]];
    if (size <= 0) continue;
    const strip = document.createElement("canvas");
    [strip.width, strip.height] = [canvas.width, size];
    strip.getContext("2d")?.drawImage(canvas, 0, top, canvas.width, size, 0, 0, canvas.width, size);
    strips.append(strip);
  }
  canvas.after(strips);
  canvas.classList.add("in-strips");
}
