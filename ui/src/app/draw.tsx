/* Pages that draw what the address chooses, in a frame: the same pages as those that the program writes to files. */
import type { JSX } from "preact";
import type { Address } from "./address";
import { Link } from "./frame";
import { type Plain, say } from "./language";

const NAMES: Readonly<Record<string, Plain>> = { flame: "flame", timeline: "page.timeline", report: "page.report" };

/** The page. */
export function DrawPage({ address }: { address: Address }): JSX.Element {
  const view = address.of("view") in NAMES ? address.of("view") : "flame";
  const name = say(NAMES[view] ?? "flame");
  const chosen = address.asked(["q", "svc", "capture", "from", "to"]);
  const capture = address.of("capture");
  const what = capture ? say("capture.of", { capture }) : address.of("svc") || say("draw.all");
  return (
    <div class="app">
      <div class="bar rule">
        <h1 class="h">{name}</h1>
        <span class="dim">{say("draw.of", { what })}</span>
        {address.of("q") && <code>{address.of("q")}</code>}
        <span class="grow" />
        <Link to={address.with({ view: "" }, "/calls")}>{say("page.calls")}</Link>
      </div>
      <iframe key={`${view}?${chosen}`} class="draw" title={name} src={`/view/${view}?${chosen}`} />
    </div>
  );
}
