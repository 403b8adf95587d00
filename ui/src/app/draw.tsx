/* Pages that draw what the address chooses, in a frame: the same pages as those that the program writes to files. */
import type { JSX } from "preact";
import type { Address } from "./address";
import { Link } from "./frame";

const NAMES: Record<string, string> = { flame: "Flame graph", timeline: "Timeline", report: "Report" };

/** The page. */
export function DrawPage({ address }: { address: Address }): JSX.Element {
  const view = address.of("view") in NAMES ? address.of("view") : "flame";
  const chosen = address.asked(["q", "svc", "capture", "from", "to"]);
  const capture = address.of("capture");
  const what = capture ? `capture ${capture}` : address.of("svc") || "every capture";
  return (
    <div class="app">
      <div class="bar rule">
        <h1 class="h">{NAMES[view]}</h1>
        <span class="dim">of {what}</span>
        {address.of("q") && <code>{address.of("q")}</code>}
        <span class="grow" />
        <Link to={address.with({ view: "" }, "/calls")}>Calls</Link>
      </div>
      <iframe key={`${view}?${chosen}`} class="draw" title={NAMES[view]} src={`/view/${view}?${chosen}`} />
    </div>
  );
}
