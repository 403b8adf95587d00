/* A call's spans added up: by path, from the callees up, and along what the call waited for. */
import type { Span } from "./api";
import { kindOf } from "./spans";

/** A function on a path. */
export interface TreeNode {
  name: string;
  kind: string;
  total: number;
  self: number;
  /** Of the total, own time in databases. */
  database: number;
  times: number;
  failed: number;
  children: TreeNode[];
  /** The children by their names. */
  named: Map<string, TreeNode>;
}

const isDatabase = (span: Span): boolean => span.category === "db";

const node = (name: string, kind: string): TreeNode => ({
  ...{ name, kind, total: 0, self: 0, database: 0, times: 0, failed: 0 },
  children: [],
  named: new Map(),
});

function childOf(parent: TreeNode, name: string, kind: string): TreeNode {
  let child = parent.named.get(name);
  if (!child) {
    child = node(name, kind);
    parent.children.push(child);
    parent.named.set(name, child);
  }
  return child;
}

function sort(root: TreeNode): TreeNode {
  root.children.sort((a, b) => b.total - a.total);
  for (const child of root.children) sort(child);
  return root;
}

/** The spans of one function below the same callers as one node; the root stands for none. */
export function callTree(spans: readonly Span[]): TreeNode {
  const root = node("", "");
  const path: TreeNode[] = [root];
  for (const span of spans) {
    path.length = Math.min(span.depth + 1, path.length);
    const parent = path[path.length - 1] as TreeNode;
    const child = childOf(parent, span.function, kindOf(span));
    child.total += span.duration_ns;
    child.self += span.self_ns;
    child.times += 1;
    child.failed += Number(span.failed);
    path.push(child);
    if (isDatabase(span)) for (const around of path) around.database += span.self_ns;
  }
  root.total = root.children.reduce((sum, { total }) => sum + total, 0);
  return sort(root);
}

/** The tree of what functions belong to: those of one owner that call each other are one node, counted by the calls that entered it. */
export function treeBy(root: TreeNode, ownerOf: (name: string) => string): TreeNode {
  const add = (of: TreeNode, to: TreeNode) => {
    for (const one of of.children) {
      const name = ownerOf(one.name);
      const isSame = to !== whole && to.name === name;
      const at = isSame ? to : childOf(to, name, one.kind);
      at.self += one.self;
      if (!isSame) {
        at.total += one.total;
        at.times += one.times;
      }
      at.failed += one.failed;
      add(one, at);
    }
  };
  const whole = node("", "");
  whole.total = root.total;
  add(root, whole);
  return sort(whole);
}

/** Functions by their own time, each with the callers that it was spent for. */
export function bottomUp(spans: readonly Span[]): TreeNode {
  const root = node("", "");
  const path: Span[] = [];
  for (const span of spans) {
    path.length = span.depth;
    path.push(span);
    let at = root;
    for (let up = path.length - 1; up >= 0; up--) {
      const caller = path[up] as Span;
      at = childOf(at, caller.function, kindOf(caller));
      at.total += span.self_ns;
      at.times += 1;
      if (up === path.length - 1) at.self += span.self_ns;
      if (isDatabase(span)) at.database += span.self_ns;
    }
    root.total += span.self_ns;
  }
  return sort(root);
}

/** A function with what it took: all calls, recursion counted once. */
export interface FunctionSum {
  name: string;
  kind: string;
  total: number;
  self: number;
  times: number;
}

/** Functions of a call by their own time. */
export function functions(spans: readonly Span[]): FunctionSum[] {
  const sums = new Map<string, FunctionSum>();
  const path: string[] = [];
  for (const span of spans) {
    path.length = span.depth;
    const name = span.function;
    const sum = sums.get(name) ?? { name, kind: kindOf(span), total: 0, self: 0, times: 0 };
    if (!path.includes(name)) sum.total += span.duration_ns;
    sum.self += span.self_ns;
    sum.times += 1;
    sums.set(name, sum);
    path.push(name);
  }
  return [...sums.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

/** Who calls a function and what it calls, with the time of each; recursion counts once. */
export function around(spans: readonly Span[], name: string): { callers: FunctionSum[]; callees: FunctionSum[] } {
  const callers = new Map<string, FunctionSum>();
  const callees = new Map<string, FunctionSum>();
  const add = (to: Map<string, FunctionSum>, of: Span | undefined, ns: number, self: number) => {
    const key = of?.function ?? "";
    const sum = to.get(key) ?? { name: key, kind: of ? kindOf(of) : "", total: 0, self: 0, times: 0 };
    sum.total += ns;
    sum.self += self;
    sum.times += 1;
    to.set(key, sum);
  };
  const path: Span[] = [];
  for (const span of spans) {
    path.length = span.depth;
    const above = path[path.length - 1];
    const ns = span.duration_ns;
    if (span.function === name && !path.some((one) => one.function === name)) add(callers, above, ns, span.self_ns);
    const isBelow = above?.function === name;
    const isFirst = !path.slice(0, -1).some((one) => one.function === name);
    if (isBelow && isFirst) add(callees, span, ns, span.self_ns);
    path.push(span);
  }
  const sorted = (of: Map<string, FunctionSum>) => [...of.values()].sort((a, b) => b.total - a.total);
  return { callers: sorted(callers), callees: sorted(callees) };
}

/** A stretch of the critical path. */
export interface Step {
  span: Span;
  /** Of the path, what is this span's own. */
  ns: number;
}

/**
 * What the end of a call waited for: from the end back, the span below that ended last, and what ended before it began.
 * Stretches of one span are one step; they come to the length of the call.
 */
export function criticalPath(spans: readonly Span[]): Step[] {
  const [root] = spans;
  if (!root) return [];
  const children = new Map<number, Span[]>();
  const path: Span[] = [];
  for (const span of spans) {
    path.length = span.depth;
    const above = path[path.length - 1];
    const siblings = above && children.get(above.index);
    if (siblings) siblings.push(span);
    else if (above) children.set(above.index, [span]);
    path.push(span);
  }
  const sums = new Map<number, Step>();
  const add = (span: Span, ns: number) => {
    if (ns <= 0) return;
    const step = sums.get(span.index) ?? { span, ns: 0 };
    step.ns += ns;
    sums.set(span.index, step);
  };
  const endOf = (span: Span) => span.offset_ns + span.duration_ns;
  /** Shares out what lies between the start of a span and a moment. */
  const walk = (span: Span, from: number) => {
    let at = from;
    const below = [...(children.get(span.index) ?? [])].sort((a, b) => endOf(b) - endOf(a));
    for (const child of below) {
      const end = Math.min(endOf(child), at);
      if (end <= Math.max(child.offset_ns, span.offset_ns)) continue;
      add(span, at - end);
      walk(child, end);
      at = Math.max(child.offset_ns, span.offset_ns);
    }
    add(span, at - span.offset_ns);
  };
  walk(root, endOf(root));
  return [...sums.values()].sort((a, b) => a.span.index - b.span.index);
}
