/* What frames can stand for. */
import type { Held } from "./data";

/** The dimensions, and what is said of one that a page cannot show. */
const DIMENSIONS: readonly (readonly [name: string, why: string])[] = [
  ["method", ""],
  ["line", "no line is recorded"],
  ["package", "too many frames"],
  ["class", "too many frames"],
  ["thread", "no times of threads"],
  ["library", "no library is recorded"],
];

export const dimensionOf = (held: Held): string => held.dimension ?? "method";

/** Why a value cannot be shown by a dimension, where it is not for want of room. */
function reason(name: string, { merge, over_time }: Held): string | undefined {
  if (merge !== "sum" && ["package", "class", "library"].includes(name)) return "its values do not add up";
  return name === "thread" && over_time?.threads.length === 1 ? "there is one thread" : undefined;
}

/** Lists what frames of a value can stand for; a difference is of functions. */
export function listDimensions(list: HTMLSelectElement, values: readonly Held[], shown: Held): void {
  const has = (name: string) => values.some((one) => one.value === shown.value && dimensionOf(one) === name);
  const options = DIMENSIONS.map(([name, why]) => {
    const option = new Option(has(name) ? name : `${name}: ${reason(name, shown) ?? why}`, name);
    option.disabled = !has(name);
    return option;
  });
  list.replaceChildren(...options);
  list.value = dimensionOf(shown);
  (list.closest("label") as HTMLElement).hidden = !!shown.compared;
}
