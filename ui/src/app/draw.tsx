/* The report of what the address chooses, in a frame: the page that the program writes to files. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Address, go } from "./address";
import { Problem } from "./api";
import { Link, Said } from "./frame";
import { say } from "./language";
import { scopeOf } from "./scope";
import { serviceTitle } from "./services";

/** Views that have a page of their own. */
const PAGES: Readonly<Record<string, string>> = { flame: "/profiles", timeline: "/timeline" };

/** Why there is no report: then the frame has no page, but a problem. */
function problemIn(frame: Document | null): Problem | undefined {
  if (!frame || !/json$/.test(frame.contentType)) return undefined;
  const text = frame.body.textContent ?? "";
  frame.body.replaceChildren();
  try {
    const { detail, title } = JSON.parse(text);
    return new Problem(String(detail ?? title), null);
  } catch {
    return new Problem(text, null);
  }
}

/** The page. */
export function DrawPage({ address }: { address: Address }): JSX.Element {
  const page = PAGES[address.of("view")];
  useEffect(() => {
    if (page) go(address.with({ view: "" }, page), true);
  }, [page]);
  const chosen = scopeOf(address);
  const [problem, setProblem] = useState<{ of: string; why: Problem | undefined }>();
  const capture = address.of("capture");
  const what = capture ? say("capture.of", { capture }) : serviceTitle(address.of("svc")) || say("draw.all");
  return (
    <div class="app">
      <div class="bar rule">
        <h1 class="h">{say("page.report")}</h1>
        <span class="dim">{say("draw.of", { what })}</span>
        {address.of("q") && <code>{address.of("q")}</code>}
        <span class="grow" />
        <Link to={address.with({ view: "" }, "/calls")}>{say("page.calls")}</Link>
      </div>
      <Said problem={problem?.of === chosen ? problem.why : undefined} />
      {!page && (
        <iframe
          key={chosen}
          class="draw"
          title={say("page.report")}
          src={`/view/report?${chosen}`}
          onLoad={({ currentTarget }) => setProblem({ of: chosen, why: problemIn(currentTarget.contentDocument) })}
        />
      )}
    </div>
  );
}
