/* What stood on the stack of a thread when: frames with the columns of time that they stayed in. */
import type { Course, Range } from "./course";
import type { Tree } from "./tree";

/** A frame that stayed on the stack from one column to before another. */
export interface Run {
  node: number;
  depth: number;
  from: number;
  to: number;
}

/** The thread that did most, of those that did anything in the range. */
export function busiest(course: Course, [from, to]: Range): number {
  const sums = new Float64Array(course.threads.length);
  course.threads.forEach((_, thread) => {
    course.each(thread, (stretch, _node, own) => {
      if (stretch >= from && stretch < to) sums[thread] += own;
    });
  });
  return sums.indexOf(sums.reduce((a, b) => Math.max(a, b), 0));
}

/** The node that took most of each column by itself; -1 where nothing ran. */
export function columns(course: Course, thread: number, [from, to]: Range, size: number): Int32Array {
  const nodes = new Int32Array(size).fill(-1);
  const sums: Map<number, number>[] = Array.from({ length: size }, () => new Map());
  const wide = to - from;
  course.each(thread, (stretch, node, own) => {
    if (stretch < from || stretch >= to || own <= 0) return;
    // A stretch that is wider than a column fills all that it covers.
    const first = Math.floor(((stretch - from) * size) / wide);
    const last = Math.max(first + 1, Math.floor(((stretch + 1 - from) * size) / wide));
    for (let at = first; at < last && at < size; at++) sums[at].set(node, (sums[at].get(node) ?? 0) + own);
  });
  sums.forEach((of, at) => {
    let most = 0;
    for (const [node, own] of of) {
      if (own <= most) continue;
      most = own;
      nodes[at] = node;
    }
  });
  return nodes;
}

/** Frames that neighbouring columns share are one. */
export function runs(tree: Tree, nodes: Int32Array): Run[] {
  const all: Run[] = [];
  let open: Run[] = [];
  nodes.forEach((node, at) => {
    const path: number[] = [];
    for (let up = node; up >= 0; up = tree.parent[up]) path.push(up);
    path.reverse();
    let same = 0;
    while (same < open.length && same < path.length && open[same].node === path[same]) open[same++].to = at + 1;
    open = open.slice(0, same);
    for (const node of path.slice(same)) {
      const run = { node, depth: tree.depth[node], from: at, to: at + 1 };
      open.push(run);
      all.push(run);
    }
  });
  return all;
}
