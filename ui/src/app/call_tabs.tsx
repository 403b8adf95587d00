/* What stands behind the tabs of a call. */
import type { JSX } from "preact";
import { amount, grouped, percent } from "../shared/amount";
import type { Address } from "./address";
import { go } from "./address";
import type { Answer, CallDetail, Span } from "./api";
import { valueText } from "./call_columns";
import { CellBar, Name } from "./call_pane";
import { around, criticalPath, type FunctionSum, functions } from "./call_tree";
import { Link, Said, useAnswer } from "./frame";
import { Icon } from "./icons";
import { say, show } from "./language";
import { useEscape } from "./pane";
import { exceptionsOf, kindColour, kindTitle, ownTimes } from "./spans";

/** Rows of one table. */
const MOST = 500;

/** How far into the call a moment is. */
export const offset = (ns: number): string => (ns ? `+${amount("ns", ns)}` : "+0");

/** Own time by kinds of work, and the functions of each. */
export function Hotspots(props: { detail: CallDetail; words: string; address: Address }): JSX.Element {
  const { detail, address } = props;
  const words = props.words.toLowerCase();
  const all = functions(detail.spans).filter(({ name }) => name.toLowerCase().includes(words));
  const kinds = ownTimes(detail.spans, (span) => span.category ?? (span.own_code ? "own" : ""));
  const whole = kinds.reduce((sum, { ns }) => sum + ns, 0);
  const most = Math.max(...all.map(({ self }) => self), 1);
  return (
    <table class="t dense pad fixed">
      <colgroup>
        <col />
        <col class="c-bar" />
        <col class="c-num" />
        <col class="c-num wide" />
        <col class="c-num wide" />
      </colgroup>
      <thead>
        <tr>
          <th>{say("method")}</th>
          <th aria-sort="descending">{say("self")} ↓</th>
          <th class="n">{say("share")}</th>
          <th class="n wide">{say("total")}</th>
          <th class="n wide">{say("times")}</th>
        </tr>
      </thead>
      {kinds.map(({ key: kind, ns }) => {
        const of = all.filter((one) => one.kind === kind);
        return (
          <tbody key={kind}>
            <tr class="grp">
              <th scope="rowgroup" class="text">
                <i class={`patch ${kindColour(kind)}`} /> {kindTitle(kind)}
              </th>
              <td class="bars">
                <span class="cb">
                  <span>{ns ? amount("ns", ns) : "0"}</span>
                </span>
              </td>
              <td class="n">{percent(ns, whole)}</td>
              <td class="wide" />
              <td class="wide" />
            </tr>
            {of.slice(0, MOST).map((one) => (
              <tr
                key={one.name}
                tabIndex={0}
                aria-selected={address.of("fn") === one.name}
                onClick={() => go(address.here({ fn: one.name }))}
                onKeyDown={(event) => event.key === "Enter" && go(address.here({ fn: one.name }))}
              >
                <td class="ell">
                  <Name name={one.name} />
                </td>
                <td class="bars">
                  <CellBar
                    text={one.self ? amount("ns", one.self) : "0"}
                    share={one.self / most}
                    kind={kindColour(kind)}
                  />
                </td>
                <td class="n">{percent(one.self, whole)}</td>
                <td class="n wide">{amount("ns", one.total)}</td>
                <td class="n wide">{grouped(one.times)}</td>
              </tr>
            ))}
            {of.length > MOST && (
              <tr>
                <td colSpan={5} class="dim">
                  {say("more.functions", { functions: of.length - MOST })}
                </td>
              </tr>
            )}
          </tbody>
        );
      })}
    </table>
  );
}

function Flows(props: {
  title: string;
  of: FunctionSum[];
  whole: number;
  none: string;
  address: Address;
}): JSX.Element {
  return (
    <>
      <h3 class="h2">{props.title}</h3>
      <table class="t dense">
        <tbody>
          {props.of.slice(0, 12).map((one) => (
            <tr key={one.name}>
              <td class="bars small">
                <CellBar
                  text={amount("ns", one.total)}
                  share={one.total / Math.max(props.whole, 1)}
                  kind={kindColour(one.kind)}
                />
              </td>
              <td class="x">
                {one.name ? (
                  <button type="button" onClick={() => go(props.address.here({ fn: one.name }))}>
                    <Name name={one.name} />
                  </button>
                ) : (
                  props.none
                )}
              </td>
              <td class="n dim">× {grouped(one.times)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!props.of.length && <p class="dim">{say("none")}</p>}
    </>
  );
}

/** Who calls the chosen function, and what it calls. */
export function Around({ detail, name, address }: { detail: CallDetail; name: string; address: Address }): JSX.Element {
  const close = () => go(address.here({ fn: "" }));
  useEscape(close);
  const { callers, callees } = around(detail.spans, name);
  const sum = functions(detail.spans.filter((span) => span.function === name));
  const whole = callers.reduce((all, { total }) => all + total, 0);
  return (
    <section aria-label={say("around")}>
      <div class="row">
        <h2 class="title grow">
          <Name name={name} />
        </h2>
        <button type="button" class="btn icon" aria-label={say("around.close")} onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <p class="dim sm">
        {say("around.facts", {
          total: amount("ns", whole),
          self: amount("ns", sum[0]?.self ?? 0),
          times: sum[0]?.times ?? 0,
        })}
      </p>
      <Flows title={say("around.callers")} of={callers} whole={whole} none={say("around.root")} address={address} />
      <Flows title={say("around.callees")} of={callees} whole={whole} none="" address={address} />
    </section>
  );
}

/** Statements by shape. */
export function Statements({ detail }: { detail: CallDetail }): JSX.Element {
  const most = Math.max(...detail.sql.map(({ time_ns }) => time_ns), 1);
  return (
    <table class="t pad">
      <thead>
        <tr>
          <th aria-sort="descending">{say("sql.time")} ↓</th>
          <th class="n">{say("share")}</th>
          <th class="n">{say("times")}</th>
          <th>{say("sql.statement")}</th>
        </tr>
      </thead>
      <tbody>
        {detail.sql.slice(0, MOST).map((statement) => (
          <tr key={statement.sql}>
            <td class="bars">
              <CellBar text={amount("ns", statement.time_ns)} share={statement.time_ns / most} kind="k-db" />
            </td>
            <td class="n">{percent(statement.time_ns, detail.duration_ns)}</td>
            <td class="n">{grouped(statement.times)}</td>
            <td class="whole">
              <code>{statement.sql}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Everything that was recorded on spans. */
export function Parameters({ detail, words }: { detail: CallDetail; words: string }): JSX.Element {
  const rows = detail.spans.flatMap((span) =>
    span.attributes.map((attribute) => ({ span, attribute, text: valueText(attribute.value) })),
  );
  const found = rows.filter(({ attribute, text }) =>
    `${attribute.name} ${text}`.toLowerCase().includes(words.toLowerCase()),
  );
  return (
    <table class="t pad">
      <thead>
        <tr>
          <th>{say("name")}</th>
          <th>{say("value")}</th>
          <th>{say("parameters.where")}</th>
          <th class="n">{say("after")}</th>
        </tr>
      </thead>
      <tbody>
        {found.slice(0, MOST).map(({ span, attribute, text }, number) => (
          <tr key={`${span.index} ${attribute.name} ${number}`}>
            <td class="s">{attribute.name}</td>
            <td class="whole">{text}</td>
            <td>
              <Name name={attribute.from ?? span.function} />
            </td>
            <td class="n dim">{offset(attribute.offset_ns ?? span.offset_ns)}</td>
          </tr>
        ))}
        {found.length > MOST && (
          <tr>
            <td colSpan={4} class="dim">
              {say("parameters.more", { values: found.length - MOST })}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** Spans that ended with an exception. */
export const thrown = (spans: readonly Span[]): Span[] => spans.filter((span) => exceptionsOf(span).length);

/** Exceptions with what caused them. */
export function Exceptions({ detail }: { detail: CallDetail }): JSX.Element {
  return (
    <div class="reading">
      {thrown(detail.spans)
        .slice(0, MOST)
        .map((span) => (
          <section key={span.index}>
            <p class="dim">
              {show("exceptions.out", {
                offset: offset(span.offset_ns + span.duration_ns),
                method: <Name name={span.function} />,
              })}
            </p>
            {exceptionsOf(span).map((exception, number) => (
              <div key={`${exception.class} ${number}`} class="thrown">
                <p>
                  {number > 0 && <span class="dim">{say("exceptions.cause")} </span>}
                  <b class="bad">{exception.class}</b> {exception.message}
                </p>
                <pre>{exception.stack.join("\n")}</pre>
              </div>
            ))}
          </section>
        ))}
    </div>
  );
}

/** What the end of the call waited for. */
export function CriticalPath({ detail, address }: { detail: CallDetail; address: Address }): JSX.Element {
  const steps = criticalPath(detail.spans);
  const most = Math.max(...steps.map(({ ns }) => ns), 1);
  return (
    <table class="t dense pad fixed">
      <colgroup>
        <col class="c-num" />
        <col />
        <col class="c-bar" />
        <col class="c-num" />
      </colgroup>
      <thead>
        <tr>
          <th class="n">{say("after")}</th>
          <th>{say("method")}</th>
          <th>{say("path.of")}</th>
          <th class="n">{say("share")}</th>
        </tr>
      </thead>
      <tbody>
        {steps.slice(0, MOST).map(({ span, ns }) => (
          <tr
            key={span.index}
            tabIndex={0}
            onClick={() => go(address.here({ fn: span.function }))}
            onKeyDown={(event) => event.key === "Enter" && go(address.here({ fn: span.function }))}
          >
            <td class="n dim">{offset(span.offset_ns)}</td>
            <td class="ell" style={{ paddingLeft: `${8 + Math.min(span.depth, 30) * 8}px` }}>
              <Name name={span.function} />
              {span.remote && <span class="dim sm"> {span.service}</span>}
            </td>
            <td class="bars">
              <CellBar
                text={amount("ns", ns)}
                share={ns / most}
                kind={kindColour(span.category ?? (span.own_code ? "own" : ""))}
              />
            </td>
            <td class="n">{percent(ns, detail.duration_ns)}</td>
          </tr>
        ))}
        {steps.length > MOST && (
          <tr>
            <td colSpan={4} class="dim">
              {say("path.more", { steps: steps.length - MOST })}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** Spans of the same trace, by the services that they ran in. */
export function Trace({ trace }: { trace: string }): JSX.Element {
  const asked = useAnswer<CallDetail>(`calls/${encodeURIComponent(trace)}?spans=20000`);
  const [detail] = asked.answer?.rows ?? [];
  const spans = detail?.spans ?? [];
  const first = Math.min(...spans.map(({ offset_ns }) => offset_ns));
  const services = spans.filter(({ service }) => service !== undefined);
  return (
    <>
      <Said problem={asked.problem} messages={(asked.answer as Answer<CallDetail> | undefined)?.messages} />
      {asked.isAsking && <p class="empty">{say("trace.reading")}</p>}
      {detail !== undefined && detail.left_out > 0 && (
        <p class="note">{say("call.first", { spans: spans.length, more: detail.left_out })}</p>
      )}
      {detail && (
        <table class="t pad">
          <thead>
            <tr>
              <th class="n">{say("after")}</th>
              <th>{say("captures.service")}</th>
              <th>{say("method")}</th>
              <th class="n">{say("trace.took")}</th>
              <th class="n">{say("trace.below")}</th>
            </tr>
          </thead>
          <tbody>
            {services.map((span) => (
              <tr key={span.index}>
                <td class="n dim">+{amount("ns", span.offset_ns - first)}</td>
                <td class="s">{span.service || "–"}</td>
                <td>
                  <Name name={span.function} />
                  {span.failed && <span class="bad sm"> {say("failed")}</span>}
                </td>
                <td class="n">{amount("ns", span.duration_ns)}</td>
                <td class="n">{grouped(span.below)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {detail && services.length < 2 && (
        <p class="empty">
          {say("trace.alone")} <Link to="/">{say("how")}</Link>
        </p>
      )}
    </>
  );
}
