/* Single profiles: when each came, and from where; a press shows one alone. */
import type { JSX } from "preact";
import { amount } from "../shared/amount";
import { type Address, go } from "./address";
import type { Capture } from "./api";
import { lies } from "./base";
import { nameOf } from "./captures";
import { COLUMNS, cells, heat, INSTANCES, instanceOf } from "./cells";
import { Link } from "./frame";
import { say } from "./language";
import { isOfServices } from "./services";
import { boundNs, moment } from "./times";

/** Rows of the table. */
const ROWS = 500;
/** Pixels of a row of the map, and units of its columns. */
const HIGH = 14;
const WIDE = 10;

const bytesOf = (capture: Capture): number => capture.parts.reduce((sum, part) => sum + part.bytes, 0);
function HeatMap({ captures, open }: { captures: readonly Capture[]; open: (id: string) => void }): JSX.Element {
  const rows = Math.min(new Set(captures.map(instanceOf)).size, INSTANCES);
  const times = captures.map((capture) => capture.opened_ns ?? 0);
  const ends = [Math.min(...times), Math.max(...times)].map((time) => moment(time));
  return (
    <figure class="heat">
      <figcaption class="dim sm">{say("singles.map", { from: ends[0] ?? "", to: ends[1] ?? "" })}</figcaption>
      <svg viewBox={`0 0 ${COLUMNS * WIDE} ${rows * HIGH}`} height={rows * HIGH} preserveAspectRatio="none" role="img">
        <title>{say("singles.title")}</title>
        {[...cells(captures)].map(([key, some]) => {
          const [at, row] = key.split(" ").map(Number);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table below is its twin for keys
            <rect
              key={key}
              class={`q-${heat(some.length)}`}
              x={at * WIDE}
              y={row * HIGH}
              width={WIDE - 1}
              height={HIGH - 2}
              onClick={() => open(some[0].id)}
            >
              <title>{`${some.map((one) => one.id).join(", ")}: ${instanceOf(some[0])}`}</title>
            </rect>
          );
        })}
      </svg>
    </figure>
  );
}

/** The view. */
export function Singles({ address, captures }: { address: Address; captures: readonly Capture[] }): JSX.Element {
  const isOf = (name: string, value: string) => {
    const wanted = address.query.getAll(name).filter(Boolean);
    return !wanted.length || wanted.includes(value);
  };
  const [from, until] = [boundNs(address.of("from")), boundNs(address.of("to"))];
  const some = captures
    .filter(
      (one) =>
        isOf("capture", one.id) &&
        isOf("version", one.version) &&
        isOfServices(address.query.getAll("svc"), one) &&
        lies(one, from, until),
    )
    .toReversed();
  const to = (id: string) => address.with({ view: "", capture: id });
  return (
    <div class="scroll grow singles">
      {some.length > 0 && <HeatMap captures={some} open={(id) => go(to(id))} />}
      <table class="t pad dense">
        <caption class="dim">{say("captures.count", { captures: some.length })}</caption>
        <thead>
          <tr>
            <th>{say("captures.capture")}</th>
            <th aria-sort="descending">{say("captures.received")}</th>
            <th>{say("captures.service")}</th>
            <th class="wide">{say("captures.instance")}</th>
            <th class="n">{say("captures.size")}</th>
            <th class="x">{say("captures.protocol")}</th>
          </tr>
        </thead>
        <tbody>
          {some.slice(0, ROWS).map((capture) => (
            <tr
              key={capture.id}
              tabIndex={0}
              onClick={() => go(to(capture.id))}
              onKeyDown={(event) => event.key === "Enter" && go(to(capture.id))}
            >
              <td class="x" title={`${nameOf(capture)} ${capture.id}`}>
                <Link to={to(capture.id)}>
                  <span class="s">{nameOf(capture)}</span> <small class="dim3">{capture.id}</small>
                </Link>
              </td>
              <td>{moment(capture.opened_ns)}</td>
              <td>{capture.service || "–"}</td>
              <td class="dim wide long" title={capture.instance}>
                {capture.instance || "–"}
              </td>
              <td class="n">{amount("bytes", bytesOf(capture))}</td>
              <td class="x dim">{capture.protocol ?? say("unknown")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!some.length && (
        <p class="empty">
          <b>{say("captures.unmatched")}</b>{" "}
          <Link to={address.with({ svc: "", capture: "", version: "", from: "", to: "" })}>{say("captures.all")}</Link>
        </p>
      )}
      {some.length > ROWS && <p class="empty dim">{say("singles.more", { profiles: some.length - ROWS })}</p>}
    </div>
  );
}
