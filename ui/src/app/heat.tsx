/* Calls by time and duration above their list: a dot each, or how many there are in each stretch; dragging chooses. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount } from "../shared/amount";
import { colours } from "../shared/theme";
import type { Call, Overview } from "./api";
import { useCanvas } from "./canvas";
import { say } from "./language";
import { moment } from "./times";

const HEIGHT = 148;
const LEFT = 56;
const BOTTOM = 20;
const TOP = 8;
/** Steps of the scale: calls of a cell from which on it is darker. */
const STEPS = [1, 2, 4, 10, 32, 100] as const;
/** Pixels below which a drag is a press. */
const LEAST = 4;

/** A rectangle: nanoseconds since 1970, and of durations. */
export interface Chosen {
  from: number;
  to: number;
  least: number;
  most: number;
}

/** Where moments and durations lie in the picture. */
class Scale {
  constructor(
    readonly first: number,
    readonly last: number,
    readonly least: number,
    readonly most: number,
    readonly width: number,
  ) {}

  x(ns: number): number {
    const range = Math.max(this.last - this.first, 1);
    return LEFT + ((ns - this.first) / range) * (this.width - LEFT - 8);
  }

  y(ns: number): number {
    const room = HEIGHT - BOTTOM - TOP;
    const share = Math.log(Math.max(ns, this.least) / this.least) / Math.log(this.most / this.least);
    return TOP + room - share * room;
  }

  at(x: number, y: number): { ns: number; duration: number } {
    const along = Math.min(Math.max((x - LEFT) / (this.width - LEFT - 8), 0), 1);
    const up = Math.min(Math.max(1 - (y - TOP) / (HEIGHT - BOTTOM - TOP), 0), 1);
    return { ns: this.first + along * (this.last - this.first), duration: this.least * (this.most / this.least) ** up };
  }
}

/** The power of ten at or below a duration. */
const decade = (ns: number): number => 10 ** Math.floor(Math.log10(Math.max(ns, 1)));

function scaleOf(overview: Overview, width: number): Scale {
  const bands = overview.cells.map(([, least]) => least);
  const least = Math.max(decade(Math.min(...bands)), 1000);
  const longest = Math.max(overview.durations.max ?? 1, ...bands);
  const most = Math.max(decade(longest) * 10, least * 10);
  const [first, last] = [overview.first_ns ?? 0, overview.last_ns ?? overview.first_ns ?? 0];
  // What all began at once stands in the middle of a second.
  const more = last - first < 1e6 ? 5e8 : 0;
  return new Scale(first - more, last + more, least, most, width);
}

const NAMES = ["line", "ink-2", "ink-3", "bad", "accent", "q-1", "q-2", "q-3", "q-4", "q-5", "q-6"] as const;

function draw(
  g: CanvasRenderingContext2D,
  canvas: HTMLCanvasElement,
  scale: Scale,
  props: { overview: Overview; dots: readonly Call[] | undefined; isSelected: (call: Call) => boolean },
): void {
  const colour = colours(NAMES, canvas.parentElement ?? document.body);
  g.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (let ns = scale.least; ns <= scale.most; ns *= 10) {
    const y = Math.round(scale.y(ns)) + 0.5;
    g.fillStyle = colour.line;
    g.fillRect(LEFT, y - 0.5, scale.width - LEFT, 1);
    g.fillStyle = colour["ink-3"];
    g.fillText(amount("ns", ns), LEFT - 8, y);
  }
  g.textAlign = "center";
  const places = Math.max(Math.floor((scale.width - LEFT) / 200), 1);
  for (let place = 0; place < places; place++) {
    const ns = scale.first + ((place + 0.5) / places) * (scale.last - scale.first);
    g.fillText(moment(ns, scale.first), scale.x(ns), HEIGHT - 8);
  }
  if (props.dots) dots(g, scale, colour, props.dots, props.isSelected);
  else cells(g, scale, colour, props.overview);
  const { p95 } = props.overview.durations;
  if (!p95 || props.overview.calls < 20) return;
  const y = Math.round(scale.y(p95)) + 0.5;
  g.strokeStyle = colour["ink-3"];
  g.setLineDash([3, 3]);
  g.beginPath();
  g.moveTo(LEFT, y);
  g.lineTo(scale.width, y);
  g.stroke();
  g.textAlign = "right";
  g.fillStyle = colour["ink-2"];
  g.fillText(say("heat.p95", { duration: amount("ns", p95) }), scale.width - 4, y < 20 ? y + 9 : y - 8);
}

type Ink = Record<(typeof NAMES)[number], string>;

function dots(
  g: CanvasRenderingContext2D,
  scale: Scale,
  colour: Ink,
  calls: readonly Call[],
  isSelected: (call: Call) => boolean,
): void {
  // What failed lies above the rest, and what is selected above all.
  const above = (call: Call) => (isSelected(call) ? 2 : call.error ? 1 : 0);
  for (const call of calls.toSorted((one, other) => above(one) - above(other))) {
    const selected = isSelected(call);
    g.globalAlpha = call.error || selected ? 1 : 0.6;
    g.fillStyle = call.error ? colour.bad : selected ? colour.accent : colour["ink-2"];
    g.beginPath();
    g.arc(scale.x(call.start), scale.y(call.duration), selected ? 5 : 3.5, 0, 7);
    g.fill();
  }
  g.globalAlpha = 1;
}

function cells(g: CanvasRenderingContext2D, scale: Scale, colour: Ink, overview: Overview): void {
  for (const [start, least, calls, errors] of overview.cells) {
    const step = STEPS.findLastIndex((from) => calls >= from) + 1;
    const [x, right] = [Math.max(scale.x(start), LEFT), scale.x(start + overview.step_ns)];
    const [top, y] = [scale.y(least * Math.SQRT2), scale.y(least)];
    const width = Math.max(right - x, 2);
    g.fillStyle = colour[`q-${Math.max(step, 1)}` as "q-1"];
    g.fillRect(x, top, width, Math.max(y - top, 2));
    if (!errors) continue;
    // The share of the cell that failed, at least a line.
    g.fillStyle = colour.bad;
    g.fillRect(x, top, width, Math.max(((y - top) * errors) / calls, 1));
  }
}

/** The picture. */
export function Heat(props: {
  overview: Overview;
  /** Every call, where there are few. */
  dots: readonly Call[] | undefined;
  isSelected: (call: Call) => boolean;
  select: (call: Call) => void;
  choose: (chosen: Chosen) => void;
}): JSX.Element {
  const { overview } = props;
  const [drag, setDrag] = useState<{ x: number; y: number; toX: number; toY: number }>();
  const canvas = useCanvas(HEIGHT, (g, width, element) => draw(g, element, scaleOf(overview, width), props));
  const scale = scaleOf(overview, canvas.width);
  const begin = (event: PointerEvent) => {
    if (event.button) return;
    const { x, y } = canvas.within(event);
    canvas.ref.current?.setPointerCapture(event.pointerId);
    setDrag({ x, y, toX: x, toY: y });
  };
  const move = (event: PointerEvent) => {
    if (!drag) return;
    const { x, y } = canvas.within(event);
    setDrag({ ...drag, toX: x, toY: y });
  };
  const end = () => {
    setDrag(undefined);
    if (!drag) return;
    const { x, y, toX, toY } = drag;
    if (Math.hypot(toX - x, toY - y) < LEAST) {
      const distance = (call: Call) => Math.hypot(scale.x(call.start) - x, scale.y(call.duration) - y);
      const near = (props.dots ?? []).filter((call) => distance(call) < 8);
      const [nearest] = near.sort((a, b) => distance(a) - distance(b));
      if (nearest) props.select(nearest);
      return;
    }
    const [one, other] = [scale.at(Math.min(x, toX), Math.max(y, toY)), scale.at(Math.max(x, toX), Math.min(y, toY))];
    props.choose({ from: one.ns, to: other.ns, least: one.duration, most: other.duration });
  };
  const failed = overview.errors ? say("heat.failed", { calls: overview.errors }) : "";
  const what = say("heat.what", { calls: overview.calls, failed });
  return (
    <div class="scatter">
      <canvas
        ref={canvas.ref}
        role="img"
        aria-label={what}
        onPointerDown={begin}
        onPointerMove={move}
        onPointerUp={end}
        onPointerCancel={() => setDrag(undefined)}
      />
      {drag && (
        <i
          class="band"
          style={{
            left: `${Math.min(drag.x, drag.toX)}px`,
            top: `${Math.min(drag.y, drag.toY)}px`,
            width: `${Math.abs(drag.toX - drag.x)}px`,
            height: `${Math.abs(drag.toY - drag.y)}px`,
          }}
        />
      )}
      {!props.dots && (
        <p class="key dim3" aria-hidden="true">
          {say("heat.cell")}
          {STEPS.map((from, step) => (
            <span key={from}>
              <i class={`patch q${step + 1}`} /> {step === STEPS.length - 1 ? say("heat.more", { calls: from }) : from}
            </span>
          ))}
        </p>
      )}
      {overview.undated > 0 && <p class="dim sm">{say("heat.undated", { calls: overview.undated })}</p>}
    </div>
  );
}
