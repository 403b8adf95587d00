/* A call over time: each span below the one around it. */
import type { JSX } from "preact";
import { levels } from "../shared/names";
import { Pen } from "../shared/pen";
import { colours } from "../shared/theme";
import type { Span } from "./api";
import { useCanvas } from "./canvas";
import { kindColour, kindOf } from "./spans";

/** Pixels from which on a span carries its name. */
const NAMED = 24;
const TOKENS =
  "k-own k-own-2 k-own-3 k-db k-db-2 k-db-3 k-net k-lock k-gc k-lib k-rt k-sys k-none ink accent paper".split(" ");

/** Levels that are drawn at most. */
const DEEPEST = 40;

/** The picture. */
export function Icicle(props: {
  spans: readonly Span[];
  /** Nanoseconds of the call. */
  length: number;
  /** Pixels of a level. */
  level: number;
  what: string;
  selected?: number | undefined;
  select?: ((span: Span) => void) | undefined;
}): JSX.Element {
  const { spans, length, level } = props;
  const levelsDrawn = Math.min(Math.max(...spans.map(({ depth }) => depth), 0) + 1, DEEPEST);
  const place = (ns: number, width: number) => (ns / Math.max(length, 1)) * width;
  const canvas = useCanvas(levelsDrawn * level, (g, width) => {
    const x = (ns: number) => place(ns, width);
    const colour = colours(TOKENS);
    const pen = new Pen(g);
    /** Where the last rectangle of each level ends: what would lie in the same pixel is left out. */
    const drawn = new Array<number>(levelsDrawn).fill(-1);
    for (const span of spans) {
      if (span.depth >= levelsDrawn) continue;
      const [left, right] = [Math.max(x(span.offset_ns), 0), Math.min(x(span.offset_ns + span.duration_ns), width)];
      if (right <= drawn[span.depth]! + 0.25 || right < 0 || left > width) continue;
      const top = span.depth * level;
      const wide = Math.max(right - left - (right - left > 3 ? 1 : 0), 0.5);
      g.fillStyle = colour[kindColour(kindOf(span), span.function)] ?? "";
      g.fillRect(left, top, wide, level - 1);
      drawn[span.depth] = right;
      if (span.index === props.selected) {
        g.strokeStyle = colour.accent ?? "";
        g.lineWidth = 2;
        g.strokeRect(left + 1, top + 1, wide - 2, level - 3);
      }
      if (level >= 16 && wide > NAMED)
        pen.name(levels(span.function), left + 5, top + level / 2, wide - 9, colour.ink ?? "");
    }
  });
  const press = (event: MouseEvent) => {
    if (!props.select) return;
    const x = (ns: number) => place(ns, canvas.width);
    const { x: at, y } = canvas.within(event);
    const depth = Math.floor(y / level);
    const under = spans.filter(
      (span) => span.depth === depth && x(span.offset_ns) <= at + 1 && x(span.offset_ns + span.duration_ns) >= at - 1,
    );
    if (under[0]) props.select(under[0]);
  };
  return (
    <div class="icicle">
      <canvas
        ref={canvas.ref}
        role="img"
        aria-label={props.what}
        style={{ height: `${levelsDrawn * level}px` }}
        onClick={press}
      />
    </div>
  );
}
