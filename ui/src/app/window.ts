/* Rows of a long table that are seen: the others are room above and below. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows above and below those that are seen. */
const AROUND = 20;

/** What of a table stands in a scrolled element. */
export interface Window<E extends Element> {
  scroll: RefObject<E>;
  first: number;
  last: number;
  measure: () => void;
  /** Style of the table: as high as all of its rows. */
  room: { marginTop: string; marginBottom: string };
}

/** Follows what is seen of `count` rows. */
export function useWindow<E extends Element>(count: number, fine: number, coarse: number): Window<E> {
  const scroll = useRef<E>(null);
  const [seen, setSeen] = useState({ first: 0, last: 60 });
  const height = matchMedia("(pointer: coarse)").matches ? coarse : fine;
  const measure = () => {
    const element = scroll.current;
    if (!element) return;
    const first = Math.max(Math.floor(element.scrollTop / height) - AROUND, 0);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / height) + AROUND;
    setSeen((now) => (now.first === first && now.last === last ? now : { first, last }));
  };
  useEffect(() => {
    const watch = new ResizeObserver(measure);
    if (scroll.current) watch.observe(scroll.current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(measure, [count]);
  const last = Math.min(seen.last, count);
  const first = Math.min(seen.first, last);
  return {
    ...{ scroll, first, last, measure },
    room: { marginTop: `${first * height}px`, marginBottom: `${(count - last) * height}px` },
  };
}
