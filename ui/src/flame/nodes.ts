/* Answers what a graph asks from the tree that the page holds. */
import type { Narrow, NodeSource, Nodes } from "../shared/source";
import type { Tree } from "./tree";

export class HeldNodes implements NodeSource {
  constructor(private readonly tree: Tree) {}

  nodes(path: readonly number[], minWidth: number, [from, range]: readonly [from: number, range: number]): Nodes {
    const { symbol, depth, parent, end, left, width, sum, size } = this.tree;
    const nodes: number[] = [];
    const narrow: Narrow[] = [];
    let at = -1;
    let last = size;
    for (const function_ of path) {
      let child = at + 1;
      while (child < last && symbol[child] !== function_) child = end[child];
      if (child >= last) break;
      nodes.push(child);
      at = child;
      last = end[child];
    }
    const rests = new Map<number, Narrow>();
    let rest: Narrow | null = null;
    let restOf = -2;
    for (let node = at + 1; node < last; ) {
      // A subtree beside the window is skipped as a whole.
      if (left[node] >= from + range || left[node] + width[node] <= from) node = end[node];
      else if (width[node] >= minWidth) nodes.push(node++);
      else {
        // Narrow siblings lie behind the others.
        if (!rest || restOf !== parent[node]) {
          rest = { depth: depth[node], left: left[node], width: 0, count: 0, more: false, sum: 0 };
          restOf = parent[node];
          narrow.push(rest);
          rests.set(parent[node], rest);
        }
        rest.width = left[node] + width[node] - rest.left;
        rest.count++;
        rest.sum += sum[node];
        node = end[node];
      }
    }
    const { cut } = this.tree;
    return { nodes, narrow: cut ? [...narrow, ...this.cutOff(nodes, rests, cut)] : narrow };
  }

  /** What was so narrow that the page has no node of it, right of what it has; adds it to the narrow callees that are there. */
  private cutOff(nodes: readonly number[], rests: Map<number, Narrow>, cut: Float64Array): Narrow[] {
    const { depth, end, left, width, sum } = this.tree;
    const own: Narrow[] = [];
    for (const node of nodes) {
      if (cut[node] <= 0 || sum[node] <= 0) continue;
      const more = (cut[node] / sum[node]) * width[node];
      const rest = rests.get(node);
      if (rest) {
        rest.width += more;
        rest.sum += cut[node];
        rest.more = true;
        continue;
      }
      let edge = left[node];
      for (let child = node + 1; child < end[node]; child = end[child]) edge = left[child] + width[child];
      own.push({ depth: depth[node] + 1, left: edge, width: more, count: 0, more: true, sum: cut[node] });
    }
    return own;
  }
}
