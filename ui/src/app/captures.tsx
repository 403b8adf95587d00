/* Captures: every original with its notes. */
import type { JSX } from "preact";
import { amount, counted, grouped } from "../shared/amount";
import { type Address, go } from "./address";
import type { Capture, Note } from "./api";
import { Link, Said, useAnswer } from "./frame";
import { moment } from "./times";

/** A part as `info --json` has it. */
interface Part {
  path: string;
  format: string | null;
  decoded_bytes: number;
  records: Record<string, number>;
  reason: string | null;
}

const bytesOf = (capture: Capture) => capture.parts.reduce((sum, part) => sum + part.bytes, 0);

function Details({ capture }: { capture: Capture }): JSX.Element {
  const id = encodeURIComponent(capture.id);
  const contents = useAnswer<Part & { inputs?: Part[] }>(`captures/${id}`);
  const notes = useAnswer<Note>(`captures/${id}/notes`);
  const whole = contents.answer?.rows[0];
  const inside = whole?.inputs ?? (whole ? [whole] : []);
  const found = notes.answer?.rows ?? [];
  const records = (part: Part) =>
    Object.entries(part.records ?? {})
      .map(([kind, count]) => `${grouped(count)} ${kind}`)
      .join(", ");
  const prefix = capture.parts.length > 1 ? `${capture.id}/${capture.instance}/` : `${capture.id}/`;
  const name = (part: Part) => (part.path.startsWith(prefix) ? part.path.slice(prefix.length) : part.path);
  return (
    <aside class="pane broad" aria-label="The capture">
      <section>
        <h2 class="title">
          {capture.service || capture.instance} {capture.id}
        </h2>
        <p class="dim sm">
          {capture.protocol ?? "unknown protocol"} · {capture.state} · {moment(capture.opened_ns)}
          {capture.pinned && " · pinned"}
        </p>
        <p class="sm">
          <Link to={`/calls?capture=${id}`}>Calls</Link> ·{" "}
          <Link to={`/draw?view=flame&capture=${id}`}>Flame graph</Link> ·{" "}
          <Link to={`/draw?view=timeline&capture=${id}`}>Timeline</Link> ·{" "}
          <Link to={`/draw?view=report&capture=${id}`}>Report</Link>
        </p>
        <code>
          traceloom export {capture.id} -o {capture.id}
        </code>
        <Said problem={contents.problem} messages={[...capture.doubts, ...(contents.answer?.messages ?? [])]} />
      </section>
      <section>
        <table class="t dense">
          <thead>
            <tr>
              <th>part</th>
              <th>records</th>
              <th class="n">decoded</th>
              <th class="n">notes</th>
            </tr>
          </thead>
          <tbody>
            {inside.map((part) => (
              <tr key={part.path}>
                <td title={part.path}>{name(part)}</td>
                <td class="x dim">{part.reason ?? records(part)}</td>
                <td class="n">{amount("bytes", part.decoded_bytes)}</td>
                <td class="n">{grouped(found.filter((note) => note.part === part.path).length)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h3 class="h2">notes by offset</h3>
        {notes.answer && !found.length && <p class="dim">none</p>}
        <table class="t dense">
          <tbody>
            {found.map((note) => (
              <tr key={`${note.part}${note.offset}${note.kind}`}>
                <td class="code">0x{note.offset.toString(16)}</td>
                <td class={{ info: "dim", warn: "warn", damage: "bad" }[note.level]}>{note.level}</td>
                <td class="x">
                  {note.kind}
                  {note.count > 1 && ` × ${grouped(note.count)}`} <span class="dim">{note.text}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </aside>
  );
}

/** The page. */
export function CapturesPage({ address }: { address: Address }): JSX.Element {
  const { answer, problem } = useAnswer<Capture>("captures");
  const words = address.of("find").toLowerCase();
  const all = (answer?.rows ?? []).slice().reverse();
  const text = (capture: Capture) =>
    `${capture.id} ${capture.service} ${capture.instance} ${capture.protocol} ${capture.state}`.toLowerCase();
  const list = all.filter((capture) => text(capture).includes(words));
  const MOST = 500;
  const selected = all.find((capture) => capture.id === address.of("sel"));
  return (
    <div class="app">
      <div class="bar rule">
        <label class="field grow">
          <span class="vh">Find</span>
          <input
            value={address.of("find")}
            placeholder="service, instance, protocol, state"
            onInput={(event) => go(address.with({ find: event.currentTarget.value }), true)}
          />
          <span class="cnt">{answer ? counted(list.length, "capture") : "reading"}</span>
        </label>
      </div>
      <Said problem={problem} messages={answer?.messages} />
      <div class="body">
        <main class="scroll grow">
          <h1 class="vh">Captures</h1>
          <table class="t pad">
            <thead>
              <tr>
                <th>capture</th>
                <th>service</th>
                <th class="wide">instance</th>
                <th>protocol</th>
                <th aria-sort="descending">received</th>
                <th class="n">size</th>
                <th>state</th>
              </tr>
            </thead>
            <tbody>
              {list.slice(0, MOST).map((capture) => (
                <tr
                  key={capture.id}
                  tabIndex={0}
                  aria-selected={capture === selected}
                  onClick={() => go(address.with({ sel: capture.id }))}
                  onKeyDown={(event) => event.key === "Enter" && go(address.with({ sel: capture.id }))}
                >
                  <td class="s">{capture.id}</td>
                  <td>{capture.service || "–"}</td>
                  <td class="dim wide">{capture.instance || "–"}</td>
                  <td class="dim">{capture.protocol ?? "unknown"}</td>
                  <td>{moment(capture.opened_ns)}</td>
                  <td class="n">{amount("bytes", bytesOf(capture))}</td>
                  <td class={capture.state === "open" ? "ok" : ""}>{capture.state}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {list.length > MOST && <p class="empty">{counted(list.length - MOST, "older capture")}: find by a word.</p>}
          {answer && !all.length && (
            <p class="empty">
              <b>Nothing has arrived.</b> <Link to="/">How to send</Link>
            </p>
          )}
        </main>
        {selected && <Details key={selected.id} capture={selected} />}
      </div>
    </div>
  );
}
