/* What the page does not hold one by one is asked for when the window rests. */
import { toast } from "../shared/toast";
import type { TimelineChart } from "./chart";
import type { AskTile } from "./tiles";

/** Milliseconds after the last move, when what is seen is asked for. */
const STILL = 200;

export class TileRequests {
  private waiting = 0;

  constructor(
    private readonly chart: TimelineChart,
    private readonly ask: AskTile,
    private readonly life?: AbortSignal,
  ) {
    life?.addEventListener("abort", () => clearTimeout(this.waiting));
  }

  later(): void {
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => void this.fetch(), STILL);
  }

  private async fetch(): Promise<void> {
    const { model, part, paint } = this.chart;
    const span = BigInt(Math.ceil(model.view.span));
    const [from, to] = [model.leftEdge(), model.leftEdge() + span];
    const isWhole = model.view.span * 2 > model.longest;
    if (
      isWhole ||
      model.source.has(from, to) ||
      !model.data.sources.every((source, number) => source.unix || !model.layout.isShown(number))
    )
      return;
    const stretch = [from - span, to + span] as const;
    part.ariaBusy = "true";
    const tile = await this.ask(model.start + stretch[0], model.start + stretch[1]).catch(() => null);
    if (this.life?.aborted) return;
    part.ariaBusy = "false";
    if (!tile) {
      toast("The collector does not answer for this stretch: short spans stay together.");
      return;
    }
    model.take(tile, ...stretch);
    paint.dress();
    this.chart.schedule();
    // Meanwhile the window may have moved on.
    this.later();
  }
}
