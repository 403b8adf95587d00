/* The tree of a value with its threads as roots, made of what ran when: a dimension that pages hold no columns for. */
import type { Course, Range } from "./course";
import type { Data, Held } from "./data";
import { Growing, kinds, type Tree } from "./tree";

/** The data of a value whose roots are threads; `methods` has it by functions and with its course. */
export function byThread(methods: Held): Held {
  const threads = methods.over_time?.threads ?? [];
  const nothing = threads.map(() => "");
  const { over_time: _, ...held } = methods;
  return {
    ...held,
    dimension: "thread",
    names: [...methods.names, ...threads.map((name) => name || "(no thread)")],
    places: [...methods.places, ...nothing],
    group: [...methods.group, ...threads.map(() => 1)],
    // Colour 0 and no kind, as `page::json` writes numbers.
    colours: methods.colours + "A".repeat(threads.length),
    kinds: methods.kinds + "B".repeat(threads.length),
  };
}

/** Returns true if a value can be shown by threads. */
export const hasThreads = (held: Held): boolean =>
  (held.dimension ?? "method") === "method" && (held.over_time?.threads.length ?? 0) > 1 && !held.group.includes(1);

/** Hangs the tree of each thread from a root of its own: of a range, where there is one, and of one thread alone. */
export function threadTree(data: Data, methods: Data, all: Tree, range: Range | null = null, only = -1): Tree {
  const { course } = methods;
  const trees = (course?.threads ?? []).map((_, thread) =>
    only >= 0 && thread !== only
      ? null
      : (course as Course).tree(all, methods.held, methods.kinds, range ?? [0, (course as Course).size], thread),
  );
  const isWhole = !range && only < 0;
  const growing = new Growing(data.held, isWhole ? all.total : trees.reduce((sum, of) => sum + (of?.total ?? 0), 0));
  trees.forEach((of, thread) => {
    if (!of?.size) return;
    const root = growing.child(-1, methods.names.length + thread, -1);
    growing.add(growing.sum, root, of.total);
    const at = new Int32Array(of.size);
    for (let node = 0; node < of.size; node++) {
      const p = of.parent[node];
      at[node] = growing.child(p < 0 ? root : at[p], of.symbol[node], -1);
      growing.add(growing.sum, at[node], of.sum[node]);
      growing.add(growing.own, at[node], of.own[node]);
      growing.calls[at[node]] += of.calls[node];
      if (data.held.source === "samples" || p < 0) growing.calls[root] += of.calls[node];
    }
  });
  return { ...kinds(growing.flat(), data.kinds), base: isWhole, id: null };
}
