/* Bytes of a part around an offset, and its records from there on. */
import type { JSX } from "preact";
import { amount } from "../shared/amount";
import { type Address, go } from "./address";
import type { Note } from "./api";
import { valueText } from "./call_columns";
import { Said, useAnswer } from "./frame";
import { say } from "./language";

/** Bytes of a line, and lines before the offset. */
const WIDTH = 16;
const BEFORE = 5;
const LINES = 14;

interface Bytes {
  part: string;
  offset: number;
  bytes: number;
  hex: string;
}

const two = (value: number): string => value.toString(16).padStart(2, "0");

/** A byte as a letter. */
const letter = (value: number): string => (value > 31 && value < 127 ? String.fromCharCode(value) : ".");

function Lines({ row, at, doubtful }: { row: Bytes; at: number; doubtful: boolean }): JSX.Element {
  const values = (row.hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  const lines = [];
  for (let from = 0; from < values.length; from += WIDTH) {
    const line = values.slice(from, from + WIDTH);
    const start = row.offset + from;
    // From the offset to the end of its line: where a reader lost its way.
    const marked = (place: number) => doubtful && start + place >= at && start <= at;
    const cells = line.map((value, place) => {
      const text = `${two(value)}${place === WIDTH / 2 - 1 ? "  " : " "}`;
      return marked(place) ? <mark key={place}>{text}</mark> : text;
    });
    const letters = line.map((value, place) =>
      marked(place) ? <mark key={place}>{letter(value)}</mark> : letter(value),
    );
    lines.push(
      <div key={start}>
        <span class="o">{start.toString(16).padStart(6, "0")}</span> {cells}
        {"   ".repeat(WIDTH - line.length)}
        {line.length < WIDTH / 2 ? "  " : " "}
        {letters}
      </div>,
    );
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys.
    <pre class="hex" tabIndex={0}>
      {lines}
    </pre>
  );
}

/** A record, as `dump --json` prints it. */
interface Record_ {
  part: string;
  kind: string;
  offset: number;
  bytes: number;
}

function Records({ question }: { question: string }): JSX.Element {
  const { answer, problem } = useAnswer<Record_>(`${question}&n=40`);
  const HIDDEN = ["part", "kind", "offset", "bytes"];
  return (
    <>
      <Said problem={problem} messages={answer?.messages} />
      <table class="t dense">
        <tbody>
          {(answer?.rows ?? []).map((record) => (
            <tr key={record.offset}>
              <td class="code dim3">0x{record.offset.toString(16)}</td>
              <td class="s">{record.kind}</td>
              <td class="x dim">
                {Object.entries(record)
                  .filter(([name]) => !HIDDEN.includes(name))
                  .map(([name, value]) => `${name} ${valueText(value)}`)
                  .join(" · ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer && !answer.rows.length && <p class="dim">{say("hex.none")}</p>}
    </>
  );
}

/** What is around an offset. */
export function Around(props: {
  address: Address;
  capture: string;
  part: string;
  at: number;
  note: Note | undefined;
}): JSX.Element {
  const { address } = props;
  const asRecords = address.of("as") === "records";
  const turn = () => go(address.with({ as: asRecords ? "" : "records" }));
  const base = `captures/${encodeURIComponent(props.capture)}`;
  const from = Math.max(Math.floor(props.at / WIDTH) - BEFORE, 0) * WIDTH;
  const place = (at: number) => `part=${encodeURIComponent(props.part)}&at=0x${at.toString(16)}`;
  const asked = useAnswer<Bytes>(asRecords ? undefined : `${base}/bytes?${place(from)}&n=${WIDTH * LINES}`);
  const row = asked.answer?.rows.find(({ part }) => part === props.part) ?? asked.answer?.rows[0];
  return (
    <section aria-label={say("hex.bytes")}>
      <div class="row">
        <h3 class="h2 grow">{say(asRecords ? "hex.from" : "hex.around", { offset: `0x${props.at.toString(16)}` })}</h3>
        <button type="button" class="btn" aria-pressed={asRecords} onClick={turn}>
          {say("hex.records")}
        </button>
      </div>
      <Said problem={asked.problem} messages={asked.answer?.messages} />
      {asRecords && <Records question={`${base}/records?${place(props.at)}`} />}
      {row && !asRecords && (
        <Lines row={row} at={props.at} doubtful={Boolean(props.note && props.note.level !== "info")} />
      )}
      {row && !asRecords && row.bytes < WIDTH * LINES && (
        <p class="dim sm">{say("hex.end", { size: amount("bytes", row.offset + row.bytes) })}</p>
      )}
    </section>
  );
}
