/* A canvas as wide as its place, drawn anew when its component is, when the place changes, and when the theme does. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { onRedraw } from "../shared/theme";

export interface DrawnCanvas {
  ref: RefObject<HTMLCanvasElement>;
  /** Pixels of the page; 0 until the canvas has a place. */
  width: number;
  /** Returns the place of an event in the canvas. */
  within: (event: MouseEvent) => { x: number; y: number };
}

/** Has `draw` called with a context in pixels of the page. */
export function useCanvas(
  height: number,
  draw: (g: CanvasRenderingContext2D, width: number, canvas: HTMLCanvasElement) => void,
): DrawnCanvas {
  const ref = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [, setRound] = useState(0);
  useEffect(() => {
    const element = ref.current?.parentElement;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    const forget = onRedraw(() => setRound((round) => round + 1));
    return () => {
      forget();
      watch.disconnect();
    };
  }, []);
  useEffect(() => {
    const canvas = ref.current;
    const g = canvas?.getContext("2d");
    if (!canvas || !g || !width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    g.scale(ratio, ratio);
    draw(g, width, canvas);
  });
  const within = (event: MouseEvent) => {
    const box = ref.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  return { ref, width, within };
}
