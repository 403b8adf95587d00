/* A call as the flame graph of a page holds it. */
import type { Held } from "../flame/data";
import { classOf, packageOf } from "../shared/names";
import type { CallDetail } from "./api";
import { callTree, type TreeNode, treeBy } from "./call_tree";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** Hues of packages, where these are the colours. */
const HUES = 24;
/** The first of the colours that say nothing of the runtime. */
const FIRST = 12;

/** Writes a column as `numbers` reads it. */
export function packed(values: readonly number[]): string {
  let text = "";
  for (const value of values) {
    let rest = value < 0 ? -(value + 1) * 2 + 1 : value * 2;
    do {
      const digit = rest % 32;
      rest = Math.floor(rest / 32);
      text += DIGITS[rest ? digit + 32 : digit];
    } while (rest);
  }
  return text;
}

function hash(text: string): number {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.charCodeAt(0)) % 99991;
  return sum;
}

/** The trees of a call, in columns: of its functions, and of what these belong to. */
export function heldOf(detail: CallDetail): Held[] {
  const methods = callTree(detail.spans);
  return [
    treeOf(detail, methods, "method"),
    treeOf(
      detail,
      treeBy(methods, (name) => packageOf(name) || "(no package)"),
      "package",
    ),
    treeOf(
      detail,
      treeBy(methods, (name) => classOf(name) || "(no class)"),
      "class",
    ),
  ];
}

function treeOf(detail: CallDetail, tree: TreeNode, dimension: string): Held {
  const names: string[] = [];
  const numbers = new Map<string, number>();
  const categories = [...new Set(detail.spans.flatMap(({ category }) => category ?? []))];
  const kinds: number[] = [];
  const columns = {
    left: [] as number[],
    symbol: [] as number[],
    own: [] as number[],
    count: [] as number[],
    more: [] as number[],
  };
  let level = 0;
  const add = (node: TreeNode, depth: number) => {
    let number = numbers.get(node.name);
    if (number === undefined) {
      number = names.length;
      numbers.set(node.name, number);
      names.push(node.name);
      const category = categories.indexOf(node.kind);
      kinds.push(category >= 0 ? category : node.kind === "own" ? -2 : -1);
    }
    columns.left.push(level - depth);
    level = depth + 1;
    columns.symbol.push(number);
    columns.own.push(node.self);
    columns.count.push(node.times);
    columns.more.push(node.total - node.self - node.children.reduce((sum, { total }) => sum + total, 0));
    for (const child of node.children) add(child, depth + 1);
  };
  for (const child of tree.children) add(child, 0);
  const hues = (lightness: number) =>
    Array.from({ length: FIRST + HUES }, (_, at) => `hsl(${(at * 360) / HUES} 35% ${lightness}%)`);
  const owner = (name: string) => name.slice(0, Math.max(name.lastIndexOf("."), 0));
  const held: Held = {
    ...{ title: detail.title ?? "", value: "time", dimension, unit: "ns", unit_name: "ns" },
    ...{ source: "calls", merge: "sum", upwards: false, total: tree.total, names, wide: false },
    places: names.map(() => ""),
    colours: packed(names.map((name) => FIRST + (hash(owner(name)) % HUES))),
    group: names.map(() => 0),
    categories,
    kinds: packed(kinds),
    ...{ light: hues(82), dark: hues(30) },
    left: packed(columns.left),
    symbol: packed(columns.symbol),
    own: packed(columns.own),
    count: packed(columns.count),
  };
  if (columns.more.some(Boolean)) held.more = packed(columns.more);
  return held;
}
