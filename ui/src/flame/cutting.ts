/* What is taken out of the picture; Back or `u` puts it in again. */
import { counted } from "../shared/amount";
import { toast } from "../shared/toast";
import type { FlameGraph } from "./graph";
import type { Cuts } from "./tree";

export class Cutting {
  private readonly before: Cuts[] = [];

  constructor(private readonly graph: FlameGraph) {}

  /** Nodes add up to those around them: without, nothing can be taken out. */
  get isPossible(): boolean {
    return this.graph.data.held.merge === "sum";
  }

  get canUndo(): boolean {
    return this.before.length > 0;
  }

  private cutTo(cuts: Partial<Cuts>): void {
    if (!this.isPossible) return;
    const { seen } = this.graph;
    this.before.push(seen.cuts);
    this.graph.change({ cuts: { ...seen.cuts, ...cuts } });
  }

  /** Keeps what the selected function calls, alone. */
  focus(): void {
    const { symbol } = this.graph;
    if (symbol >= 0) this.cutTo({ focus: symbol });
  }

  hideSelected(): void {
    const { symbol } = this.graph;
    if (symbol >= 0) this.hide([symbol]);
  }

  hide(symbols: readonly number[]): void {
    if (!this.isPossible || !symbols.length) return;
    const { model, seen } = this.graph;
    const frames = model.tree.symbol.reduce((sum, symbol) => sum + (symbols.includes(symbol) ? 1 : 0), 0);
    this.cutTo({ hidden: [...seen.cuts.hidden, ...symbols] });
    toast(`Hidden: ${counted(frames, "frame")}`, () => this.undo());
  }

  collapse(): void {
    this.cutTo({ collapsed: !this.graph.seen.cuts.collapsed });
  }

  undo(): void {
    const before = this.before.pop();
    if (before) this.graph.change({ cuts: before });
  }
}
