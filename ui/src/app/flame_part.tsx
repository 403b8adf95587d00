/* The flame graph of pages, as a part of a page of the app. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import markup from "../../../crates/analysis/assets/flame.html";
import type { Held } from "../flame/data";
import { startFlame } from "../flame/input";

/** The part; what it remembers stands behind the address's `#`. */
export function FlamePart({ held }: { held: Held[] }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!place.current) return undefined;
    // The part's own markup, without any data.
    place.current.innerHTML = markup.replace("{{id}}", "").replace("{{data}}", "null");
    const part = place.current.querySelector<HTMLElement>("[data-part]");
    const life = new AbortController();
    if (part) startFlame(part, held, life.signal);
    return () => life.abort();
  }, [held]);
  return <div class="part" ref={place} />;
}
