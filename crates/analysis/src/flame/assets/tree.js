/* Call trees in columns: nodes callers first, siblings by falling value, each with the end of its subtree. */
const trees = (() => {
  const JOIN = { sum: (a, b) => a + b, min: Math.min, max: Math.max };

  /* Finds parents and ends, then lays out: left edges and widths are shares of the whole. */
  function link(tree, total) {
    const { depth, sum } = tree, size = depth.length;
    const end = tree.end = new Int32Array(size), parent = tree.parent = new Int32Array(size);
    const left = tree.left = new Float64Array(size), width = tree.width = new Float64Array(size);
    const below = new Float64Array(size + 1), next = new Float64Array(size + 1), open = [];
    tree.size = size;
    tree.depths = 0;
    for (let node = 0; node < size; node++) {
      while (open.length > depth[node]) end[open.pop()] = node;
      const p = parent[node] = open.length ? open[open.length - 1] : -1;
      open.push(node);
      if (depth[node] >= tree.depths) tree.depths = depth[node] + 1;
      below[p + 1] += Math.max(sum[node], 0);
    }
    while (open.length) end[open.pop()] = size;
    for (let node = 0; node < size; node++) {
      const p = parent[node], room = p < 0 ? 1 : width[p];
      // Callees that overlapped can exceed their caller: they are narrowed together.
      const value = Math.max(p < 0 ? total : sum[p], below[p + 1], 1);
      width[node] = Math.max(sum[node], 0) * room / value;
      left[node] = (p < 0 ? 0 : left[p]) + next[p + 1];
      next[p + 1] += width[node];
    }
    return tree;
  }

  /* The kind of work of each node: its function's, else that of the nearest caller that has one. */
  function kinds(tree, of) {
    tree.kind = new Int16Array(tree.size);
    for (let node = 0; node < tree.size; node++) {
      const own = of[tree.symbol[node]], p = tree.parent[node];
      tree.kind[node] = own >= 0 ? own : p < 0 ? -1 : tree.kind[p];
    }
    return tree;
  }

  /* The tree that a page holds. Of totals it has what they are more than own values and the totals below. */
  function held(data) {
    const symbol = new Int32Array(page.numbers(data.symbol)), own = page.numbers(data.own), left = page.numbers(data.left);
    const size = symbol.length, depth = new Int32Array(size), sum = data.more ? page.numbers(data.more) : new Float64Array(size);
    for (let node = 0, level = 0; node < size; node++) {
      depth[node] = level - left[node];
      level = depth[node] + 1;
    }
    const below = new Float64Array(size + 2);
    for (let node = size - 1; node >= 0; node--) {
      const level = depth[node];
      sum[node] += own[node] + below[level + 1];
      below[level + 1] = 0;
      below[level] += sum[node];
    }
    const tree = { symbol, depth, sum, own, calls: page.numbers(data.count), base: true };
    link(tree, data.total);
    // A group has the calls that it consists of, or all samples below.
    for (let node = 0, ground = -1; node < size; node++) {
      if (data.group[symbol[node]]) ground = node;
      else if (ground >= 0 && (data.source === "samples" || depth[node] === 1)) tree.calls[ground] += tree.calls[node];
    }
    return kinds(tree, data.kinds);
  }

  /* A tree that grows path by path; nodes keep their number while others come. */
  class Growing {
    constructor(data) {
      Object.assign(this, { data, join: JOIN[data.merge], symbol: [], parent: [], sum: [], own: [], calls: [], kind: [], known: new Map() });
    }
    child(parent, symbol, kind) {
      const key = (parent + 1) * this.data.names.length + symbol;
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
    add(column, at, value) {
      column[at] = column[at] === null ? value : this.join(column[at], value);
    }
    /* In order; `id` tells the number that a node has here. */
    flat() {
      const size = this.symbol.length, children = Array.from({ length: size + 1 }, () => []);
      for (let at = 0; at < size; at++) children[this.parent[at] + 1].push(at);
      for (const list of children) list.sort((a, b) => this.sum[a] - this.sum[b] || this.symbol[b] - this.symbol[a]);
      const id = new Int32Array(size), depth = new Int32Array(size), waiting = children[0];
      const level = new Int32Array(size);
      for (let node = 0; node < size; node++) {
        const at = waiting.pop();
        id[node] = at;
        depth[node] = level[at] = this.parent[at] < 0 ? 0 : level[this.parent[at]] + 1;
        for (const child of children[at + 1]) waiting.push(child);
      }
      const pick = (type, column) => type.from(id, (at) => column[at] ?? 0);
      return link({
        id, depth, symbol: pick(Int32Array, this.symbol), sum: pick(Float64Array, this.sum),
        own: pick(Float64Array, this.own), calls: pick(Float64Array, this.calls), kind: pick(Int16Array, this.kind),
      }, this.data.total);
    }
  }

  /* Without its groups: their trees are added together. */
  function merged(of, data) {
    const growing = new Growing(data), at = new Int32Array(of.size);
    for (let node = 0; node < of.size; node++) {
      const p = of.parent[node];
      if (data.group[of.symbol[node]]) { at[node] = -1; continue; }
      at[node] = growing.child(p < 0 ? -1 : at[p], of.symbol[node], -1);
      growing.add(growing.sum, at[node], of.sum[node]);
      growing.add(growing.own, at[node], of.own[node]);
      growing.calls[at[node]] += of.calls[node];
    }
    return kinds(growing.flat(), data.kinds);
  }

  /* Upside down: roots are functions with their own value, below them who called. It grows where it is looked at,
     because whole it can have as many nodes as the tree has frames on all its paths. Groups stay where they are. */
  class Inverted extends Growing {
    constructor(of, data) {
      super(data);
      this.of = of;
      this.pending = new Map();
      const leaves = [];
      for (let node = 0; node < of.size; node++) {
        if (!data.group[of.symbol[node]] && (of.own[node] || of.calls[node])) leaves.push(node);
      }
      this.grounds = of.size > 0 && data.group[of.symbol[0]] ? 1 : 0;
      this.open(-1, leaves, this.grounds ? leaves.map((leaf) => this.ground(leaf)) : leaves);
      if (this.grounds) for (const at of [...this.pending.keys()]) this.expand(at);
    }
    ground(leaf) {
      let at = leaf;
      while (this.of.parent[at] >= 0) at = this.of.parent[at];
      return at;
    }
    /* Sorts leaves to the children of `parent`, which it returns; `cursors` are the frames that their paths have come to. */
    open(parent, leaves, cursors) {
      const widest = new Map();
      leaves.forEach((leaf, i) => {
        const { of } = this, cursor = cursors[i], value = of.own[leaf];
        const at = this.child(parent, of.symbol[cursor], of.kind[cursor]);
        this.add(this.sum, at, value);
        this.calls[at] += of.calls[leaf];
        if (Math.abs(value) > (widest.get(at) ?? -1)) { widest.set(at, Math.abs(value)); this.kind[at] = of.kind[cursor]; }
        let waiting = this.pending.get(at);
        if (!waiting) this.pending.set(at, waiting = { leaves: [], cursors: [] });
        waiting.leaves.push(leaf);
        waiting.cursors.push(cursor);
      });
      return widest.keys();
    }
    /* Grows the callers of a node, and returns them. */
    expand(at) {
      const waiting = this.pending.get(at);
      if (!waiting) return [];
      this.pending.delete(at);
      const leaves = [], cursors = [], ground = this.grounds && this.parent[at] < 0;
      waiting.leaves.forEach((leaf, i) => {
        const up = ground ? leaf : this.of.parent[waiting.cursors[i]];
        if (up >= 0 && this.of.depth[up] >= this.grounds) { leaves.push(leaf); cursors.push(up); }
        else this.add(this.own, at, this.of.own[leaf]);
      });
      return this.open(at, leaves, cursors);
    }
    /* Grows every node at or below `root` that comes to at least `least`. */
    refine(root, least) {
      const below = (at) => { while (at >= 0 && at !== root) at = this.parent[at]; return at === root; };
      const wide = (at) => Math.abs(this.sum[at]) >= least;
      const queue = [...this.pending.keys()].filter((at) => wide(at) && below(at)), grown = queue.length > 0;
      while (queue.length) {
        for (const caller of this.expand(queue.pop())) if (wide(caller)) queue.push(caller);
      }
      return grown;
    }
  }

  return { held, merged, Inverted };
})();
