/* Call trees in columns: nodes callers first, siblings by falling value, each with the end of its subtree. */
import { numbers } from "../shared/numbers";
import type { Data, Held, Merge } from "./data";

export const JOIN: Record<Merge, (a: number, b: number) => number> = {
  sum: (a, b) => a + b,
  min: Math.min,
  max: Math.max,
};

export interface Tree {
  size: number;
  depths: number;
  /** What its roots come to: 100 %. */
  total: number;
  symbol: Int32Array;
  depth: Int32Array;
  parent: Int32Array;
  /** The node after the last one below each. */
  end: Int32Array;
  sum: Float64Array;
  own: Float64Array;
  calls: Float64Array;
  kind: Int16Array;
  /** Left edges and widths, as shares of the whole. */
  left: Float64Array;
  width: Float64Array;
  /** Numbers that nodes of a tree keep while it grows. */
  id: Int32Array | null;
  /** It is the tree that the page holds. */
  base: boolean;
  /** Of that tree: what each node came to in callees that have no node, because they were the narrowest. */
  cut: Float64Array | null;
}

type Columns = Pick<Tree, "symbol" | "depth" | "sum" | "own" | "calls" | "kind" | "id" | "base">;

/** Finds parents and ends, then lays out. */
function link(columns: Columns, total: number): Tree {
  const { depth, sum } = columns;
  const size = depth.length;
  const end = new Int32Array(size);
  const parent = new Int32Array(size);
  const left = new Float64Array(size);
  const width = new Float64Array(size);
  const below = new Float64Array(size + 1);
  const next = new Float64Array(size + 1);
  const open: number[] = [];
  let depths = 0;
  for (let node = 0; node < size; node++) {
    while (open.length > depth[node]) end[open.pop() as number] = node;
    const p = (parent[node] = open.length ? open[open.length - 1] : -1);
    open.push(node);
    if (depth[node] >= depths) depths = depth[node] + 1;
    below[p + 1] += Math.max(sum[node], 0);
  }
  while (open.length) end[open.pop() as number] = size;
  for (let node = 0; node < size; node++) {
    const p = parent[node];
    const room = p < 0 ? 1 : width[p];
    // Callees that overlapped can exceed their caller: they are narrowed together.
    const value = Math.max(p < 0 ? total : sum[p], below[p + 1], 1);
    width[node] = (Math.max(sum[node], 0) * room) / value;
    left[node] = (p < 0 ? 0 : left[p]) + next[p + 1];
    next[p + 1] += width[node];
  }
  return { ...columns, size, depths, total, parent, end, left, width, cut: null };
}

/** Sets the kind of work of each node: its function's, else that of the nearest caller that has one. */
export function kinds(tree: Tree, of: Float64Array): Tree {
  for (let node = 0; node < tree.size; node++) {
    const own = of[tree.symbol[node]];
    const p = tree.parent[node];
    // The program's own code does not do the work of the framework that calls it.
    tree.kind[node] = own >= 0 ? own : own < -1 || p < 0 ? -1 : tree.kind[p];
  }
  return tree;
}

/** The tree that a page holds. Of totals it has what they are more than own values and the totals below. */
export function held(data: Data): Tree {
  const of = data.held;
  const symbol = new Int32Array(numbers(of.symbol));
  const own = numbers(of.own);
  const left = numbers(of.left);
  const size = symbol.length;
  const depth = new Int32Array(size);
  const sum = of.more ? numbers(of.more) : new Float64Array(size);
  for (let node = 0, level = 0; node < size; node++) {
    depth[node] = level - left[node];
    level = depth[node] + 1;
  }
  const cut = of.rest && of.more ? sum.slice() : null;
  const below = new Float64Array(size + 2);
  for (let node = size - 1; node >= 0; node--) {
    const level = depth[node];
    sum[node] += own[node] + below[level + 1];
    below[level + 1] = 0;
    below[level] += sum[node];
  }
  const calls = numbers(of.count);
  const tree = link({ symbol, depth, sum, own, calls, kind: new Int16Array(size), id: null, base: true }, of.total);
  // A group has the calls that it consists of, or all samples below.
  for (let node = 0, ground = -1; node < size; node++) {
    if (of.group[symbol[node]]) ground = node;
    else if (ground >= 0 && (of.source === "samples" || depth[node] === 1)) calls[ground] += calls[node];
  }
  return kinds({ ...tree, cut }, data.kinds);
}

/** A tree that grows path by path; nodes keep their number while others come. */
export class Growing {
  readonly symbol: number[] = [];
  readonly parent: number[] = [];
  readonly sum: (number | null)[] = [];
  readonly own: (number | null)[] = [];
  readonly calls: number[] = [];
  readonly kind: number[] = [];
  private readonly known = new Map<number, number>();
  private readonly join: (a: number, b: number) => number;

  constructor(
    private readonly held: Held,
    /** 100 % of it. */
    private readonly total: number,
  ) {
    this.join = JOIN[held.merge];
  }

  child(parent: number, symbol: number, kind: number): number {
    const key = (parent + 1) * this.held.names.length + symbol;
    let at = this.known.get(key);
    if (at === undefined) {
      at = this.symbol.length;
      this.known.set(key, at);
      this.symbol.push(symbol);
      this.parent.push(parent);
      this.sum.push(null);
      this.own.push(null);
      this.calls.push(0);
      this.kind.push(kind);
    }
    return at;
  }

  add(column: (number | null)[], at: number, value: number): void {
    const held = column[at];
    column[at] = held === null ? value : this.join(held, value);
  }

  /** The tree in order; `id` has the number that a node has here. */
  flat(): Tree {
    const size = this.symbol.length;
    const children: number[][] = Array.from({ length: size + 1 }, () => []);
    for (let at = 0; at < size; at++) children[this.parent[at] + 1].push(at);
    const sum = (at: number) => this.sum[at] ?? 0;
    for (const list of children) list.sort((a, b) => sum(a) - sum(b) || this.symbol[b] - this.symbol[a]);
    const id = new Int32Array(size);
    const depth = new Int32Array(size);
    const level = new Int32Array(size);
    const waiting = children[0];
    for (let node = 0; node < size; node++) {
      const at = waiting.pop() as number;
      id[node] = at;
      depth[node] = level[at] = this.parent[at] < 0 ? 0 : level[this.parent[at]] + 1;
      for (const child of children[at + 1]) waiting.push(child);
    }
    const columns = {
      symbol: Int32Array.from(id, (at) => this.symbol[at]),
      sum: Float64Array.from(id, sum),
      own: Float64Array.from(id, (at) => this.own[at] ?? 0),
      calls: Float64Array.from(id, (at) => this.calls[at]),
      kind: Int16Array.from(id, (at) => this.kind[at]),
    };
    return link({ ...columns, id, depth, base: false }, this.total);
  }
}

/** The tree without its groups: their trees are added together. */
export function merged(of: Tree, data: Data): Tree {
  const growing = new Growing(data.held, of.total);
  const at = new Int32Array(of.size);
  for (let node = 0; node < of.size; node++) {
    const p = of.parent[node];
    if (data.held.group[of.symbol[node]]) {
      at[node] = -1;
      continue;
    }
    at[node] = growing.child(p < 0 ? -1 : at[p], of.symbol[node], -1);
    growing.add(growing.sum, at[node], of.sum[node]);
    growing.add(growing.own, at[node], of.own[node]);
    growing.calls[at[node]] += of.calls[node];
  }
  return kinds(growing.flat(), data.kinds);
}

/** What is taken out of a tree before it is looked at. */
export interface Cuts {
  /** The function whose calls alone are shown; less than 0 for all. */
  focus: number;
  /** Functions whose time counts with their callers. */
  hidden: readonly number[];
  /** A function that calls itself at once is one frame. */
  collapsed: boolean;
}

/** The tree after cuts. */
export function cutTree(of: Tree, data: Data, cuts: Cuts): Tree {
  const growing = new Growing(data.held, of.total);
  const hidden = new Set(cuts.hidden);
  // Where each node went: a node of the new tree, -1 for its roots, -2 for what is left out.
  const at = new Int32Array(of.size);
  for (let node = 0; node < of.size; node++) {
    const s = of.symbol[node];
    const p = of.parent[node];
    const above = p >= 0 ? at[p] : cuts.focus < 0 ? -1 : -2;
    const isFocus = above === -2 && s === cuts.focus;
    if (above === -2 && !isFocus) {
      at[node] = -2;
      continue;
    }
    const parent = isFocus ? -1 : above;
    const isSame = cuts.collapsed && parent >= 0 && growing.symbol[parent] === s;
    if (hidden.has(s) || isSame) {
      at[node] = parent;
      // What a hidden function took is its caller's own; without a caller it has no place.
      if (parent >= 0) {
        growing.add(growing.own, parent, of.own[node]);
        if (isSame) growing.calls[parent] += of.calls[node];
      }
      continue;
    }
    at[node] = growing.child(parent, s, -1);
    growing.add(growing.sum, at[node], of.sum[node]);
    growing.add(growing.own, at[node], of.own[node]);
    growing.calls[at[node]] += of.calls[node];
  }
  return kinds(growing.flat(), data.kinds);
}

/**
 * The tree upside down: roots are functions with their own value, below them who called. It grows where it is looked
 * at, because whole it can have as many nodes as the tree has frames on all its paths. Groups stay where they are.
 */
export class Inverted extends Growing {
  private readonly pending = new Map<number, { leaves: number[]; cursors: number[] }>();
  private readonly grounds: 0 | 1;

  constructor(
    private readonly of: Tree,
    data: Data,
  ) {
    super(data.held, of.total);
    const { group } = data.held;
    const leaves: number[] = [];
    for (let node = 0; node < of.size; node++) {
      if (!group[of.symbol[node]] && (of.own[node] || of.calls[node])) leaves.push(node);
    }
    this.grounds = of.size > 0 && group[of.symbol[0]] ? 1 : 0;
    this.open(-1, leaves, this.grounds ? leaves.map((leaf) => this.ground(leaf)) : leaves);
    if (this.grounds) for (const at of [...this.pending.keys()]) this.expand(at);
  }

  /** Returns true if callers of a node are not grown yet. */
  waits(at: number): boolean {
    return this.pending.has(at);
  }

  private ground(leaf: number): number {
    let at = leaf;
    while (this.of.parent[at] >= 0) at = this.of.parent[at];
    return at;
  }

  /** Sorts leaves to the children of `parent`, which it returns; `cursors` are the frames that their paths have come to. */
  private open(parent: number, leaves: number[], cursors: number[]): Iterable<number> {
    const widest = new Map<number, number>();
    leaves.forEach((leaf, i) => {
      const { of } = this;
      const cursor = cursors[i];
      const value = of.own[leaf];
      const at = this.child(parent, of.symbol[cursor], of.kind[cursor]);
      this.add(this.sum, at, value);
      this.calls[at] += of.calls[leaf];
      if (Math.abs(value) > (widest.get(at) ?? -1)) {
        widest.set(at, Math.abs(value));
        this.kind[at] = of.kind[cursor];
      }
      let waiting = this.pending.get(at);
      if (!waiting) {
        waiting = { leaves: [], cursors: [] };
        this.pending.set(at, waiting);
      }
      waiting.leaves.push(leaf);
      waiting.cursors.push(cursor);
    });
    return widest.keys();
  }

  /** Grows the callers of a node, and returns them. */
  expand(at: number): Iterable<number> {
    const waiting = this.pending.get(at);
    if (!waiting) return [];
    this.pending.delete(at);
    const leaves: number[] = [];
    const cursors: number[] = [];
    const ground = this.grounds && this.parent[at] < 0;
    waiting.leaves.forEach((leaf, i) => {
      const up = ground ? leaf : this.of.parent[waiting.cursors[i]];
      if (up >= 0 && this.of.depth[up] >= this.grounds) {
        leaves.push(leaf);
        cursors.push(up);
      } else this.add(this.own, at, this.of.own[leaf]);
    });
    return this.open(at, leaves, cursors);
  }

  /** Grows every node at or below `root` that comes to at least `least`; returns true if one grew. */
  refine(root: number, least: number): boolean {
    const isBelow = (node: number) => {
      let at = node;
      while (at >= 0 && at !== root) at = this.parent[at];
      return at === root;
    };
    const isWide = (at: number) => Math.abs(this.sum[at] ?? 0) >= least;
    const queue = [...this.pending.keys()].filter((at) => isWide(at) && isBelow(at));
    const grown = queue.length > 0;
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
      for (const caller of this.expand(at)) if (isWide(caller)) queue.push(caller);
    }
    return grown;
  }
}
