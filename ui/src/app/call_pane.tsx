/* What one call of the list did. */
import type { JSX } from "preact";
import { amount, grouped, percent } from "../shared/amount";
import { parts } from "../shared/names";

import { type Call, type CallDetail, callQuestion, placeOf } from "./api";
import { counterText, titleOf, valueText } from "./call_columns";
import { Link, Said, useAnswer } from "./frame";
import { Icicle } from "./icicle";
import { Icon } from "./icons";
import { say } from "./language";
import { Pane } from "./pane";
import { databaseTime, kindColour, ownTimes } from "./spans";
import { moment } from "./times";

/** Spans that the pane looks at. */
const MOST_SPANS = 20_000;
const FUNCTIONS = 12;
const STATEMENTS = 6;

/** A name as tables have it. */
export function Name({ name }: { name: string }): JSX.Element {
  const { method, owner } = parts(name);
  return (
    <span class="name" title={name}>
      <b>{method}</b> <small>{owner}</small>
    </span>
  );
}

/** A number with its bar behind it. */
export function CellBar(props: { text: string; share: number; kind?: string }): JSX.Element {
  return (
    <span class="cb">
      <span>{props.text}</span>
      <i>{props.share > 0 && <u class={props.kind ?? ""} style={{ width: `${Math.min(props.share, 1) * 100}%` }} />}</i>
    </span>
  );
}

/** A value that was recorded; lines of a stack trace stay lines. */
export function Recorded({ name, text }: { name: string; text: string }): JSX.Element {
  const isLong = text.includes("\n");
  return (
    <div class={isLong ? "long" : ""}>
      <dt>{name}</dt>
      <dd tabIndex={isLong ? 0 : undefined}>{text}</dd>
    </div>
  );
}

/** The pane. */
export function CallPane(props: {
  call: Call;
  units: Record<string, string>;
  /** The address of its page. */
  page: string | undefined;
  close: () => void;
}): JSX.Element {
  const { call } = props;
  const capture = call.capture?.id ?? "";
  const id = call.capture?.call ?? call.id;
  const place = placeOf(call);
  const asked = useAnswer<CallDetail>(place && callQuestion(place, `spans=${MOST_SPANS}`));
  const detail = asked.answer?.rows[0];
  const spans = detail?.spans ?? [];
  const own = ownTimes(spans, (span) => span.function).filter(({ ns }) => ns > 0);
  const statements = (detail?.sql ?? []).reduce((sum, { times }) => sum + times, 0);
  const database = databaseTime(spans);
  const scope = `capture=${encodeURIComponent(capture)}`;
  return (
    <Pane label={say("call.pane")} close={props.close}>
      <section>
        <div class="row">
          <h2 class="title grow">{props.page ? <Link to={props.page}>{titleOf(call)}</Link> : titleOf(call)}</h2>
          <button type="button" class="btn icon" onClick={props.close} aria-label={say("close")}>
            <Icon name="close" />
          </button>
        </div>
        <p class="dim sm">{[moment(call.start), call.thread].filter(Boolean).join(" · ")}</p>
        <div class="figs">
          <div>
            <b>{amount("ns", call.duration)}</b>
            <span>{say("call.duration")}</span>
          </div>
          {detail?.left_out === 0 && database > 0 && (
            <div>
              <b>{percent(database, call.duration)}</b>
              <span>{say("call.database")}</span>
            </div>
          )}
          {statements > 0 && (
            <div>
              <b>{grouped(statements)}</b>
              <span>{say("call.statements")}</span>
            </div>
          )}
          {detail && (
            <div>
              <b>{grouped(detail.all_spans)}</b>
              <span>{say("call.spans")}</span>
            </div>
          )}
          {call.error && (
            <div class="bad">
              <b>
                <Icon name="error" />
              </b>
              <span class="bad">{say("failed")}</span>
            </div>
          )}
        </div>
        {capture && (
          <p class="sm">
            <Link to={`/profiles?${scope}`}>{say("flame")}</Link> ·{" "}
            <Link to={`/timeline?${scope}`}>{say("page.timeline")}</Link> ·{" "}
            <Link to={`/draw?view=report&${scope}`}>{say("page.report")}</Link>
            {say("call.of", { capture })}
          </p>
        )}
        <Said problem={asked.problem} messages={asked.answer?.messages} />
        {asked.isAsking && <p class="dim">{say("call.reading.spans")}</p>}
        {detail && detail.left_out > 0 && (
          <p class="dim sm">{say("call.first", { spans: spans.length, more: detail.left_out })}</p>
        )}
      </section>
      {spans.length > 1 && (
        <section>
          <h3 class="h2">{say("call.its", { duration: amount("ns", call.duration), thread: call.thread ?? "–" })}</h3>
          <Icicle
            spans={spans}
            length={detail?.duration_ns ?? call.duration}
            level={9}
            what={say("call.course.pane", { spans: spans.length })}
          />
        </section>
      )}
      {own.length > 0 && (
        <section>
          <h3 class="h2">{say("call.own")}</h3>
          <table class="t dense">
            <tbody>
              {own.slice(0, FUNCTIONS).map(({ key, ns, kind }) => (
                <tr key={key}>
                  <td class="bars small">
                    <CellBar text={amount("ns", ns)} share={ns / own[0]!.ns} kind={kindColour(kind)} />
                  </td>
                  <td class="x">
                    <Name name={key} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {own.length > FUNCTIONS && (
            <p class="dim sm">
              {say("more.functions", { functions: own.length - FUNCTIONS })},{" "}
              {amount(
                "ns",
                own.slice(FUNCTIONS).reduce((sum, { ns }) => sum + ns, 0),
              )}
            </p>
          )}
        </section>
      )}
      {detail?.sql.length ? (
        <section>
          <h3 class="h2">{say("call.sql")}</h3>
          {detail.sql.slice(0, STATEMENTS).map((statement) => (
            <div key={statement.sql} class="sql">
              <b>{amount("ns", statement.time_ns)}</b>{" "}
              <span class="dim sm">{say("counted.times", { times: statement.times })}</span>
              <pre class="dim">{statement.sql}</pre>
            </div>
          ))}
        </section>
      ) : null}
      <section>
        <h3 class="h2">{say("call.recorded")}</h3>
        <dl class="kv sm">
          {Object.entries(call.attributes ?? {}).map(([name, value]) => (
            <Recorded key={name} name={name} text={valueText(value)} />
          ))}
          {Object.entries(call.counters ?? {}).map(([name, value]) => (
            <div key={`counter ${name}`}>
              <dt>{name}</dt>
              <dd>{counterText(value, props.units[name])}</dd>
            </div>
          ))}
          <div>
            <dt>{say("call.id")}</dt>
            <dd>{call.capture ? `${capture} ${id}` : call.id}</dd>
          </div>
        </dl>
      </section>
    </Pane>
  );
}
