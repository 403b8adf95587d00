/* Now: what is there, what arrives, and how to send. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount, counted, grouped } from "../shared/amount";
import { type Capture, type Listener, upload } from "./api";
import { Copied, Link, Said, useAnswer } from "./frame";
import { ago } from "./times";

/** Captures of one service. */
interface Service {
  name: string;
  namespace: string;
  captures: number;
  open: number;
  instances: Set<string>;
  bytes: number;
  last: number | null;
}

const bytesOf = (capture: Capture) => capture.parts.reduce((sum, part) => sum + part.bytes, 0);

/** Sums captures up by service, those with the newest first. */
export function services(captures: readonly Capture[]): Service[] {
  const found = new Map<string, Service>();
  for (const capture of captures) {
    const key = `${capture.namespace}\n${capture.service}`;
    const { service: name, namespace } = capture;
    const service = found.get(key) ?? {
      ...{ name, namespace, captures: 0, open: 0 },
      ...{ instances: new Set<string>(), bytes: 0, last: null },
    };
    service.captures += 1;
    service.open += Number(capture.state === "open");
    service.instances.add(capture.instance);
    service.bytes += bytesOf(capture);
    service.last = Math.max(service.last ?? 0, capture.opened_ns ?? 0) || null;
    found.set(key, service);
  }
  return [...found.values()].sort((a, b) => (b.last ?? 0) - (a.last ?? 0));
}

/** A place to drop files on, or to choose them. */
export function Drop({ done }: { done: () => void }): JSX.Element {
  const [over, setOver] = useState(false);
  const [said, setSaid] = useState<string[]>([]);
  const take = async (files: FileList | null | undefined) => {
    setOver(false);
    for (const file of files ?? []) {
      setSaid((said) => [...said, `sending ${file.name}, ${amount("bytes", file.size)}`]);
      const text = await upload(file).catch(() => `${file.name} did not get through`);
      setSaid((said) => [...said.slice(0, -1), text]);
    }
    done();
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void take(event.dataTransfer?.files);
  };
  const enter = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <>
      <label class={over ? "drop over" : "drop"} onDragOver={enter} onDragLeave={() => setOver(false)} onDrop={drop}>
        <span>Drop files here, or press to choose: JFR, pprof, CDT, OTLP, folded and every other format</span>
        <input class="vh" type="file" multiple onChange={(event) => void take(event.currentTarget.files)} />
      </label>
      <ul aria-live="polite">
        {said.map((text) => (
          <li key={text} class="dim sm">
            {text}
          </li>
        ))}
      </ul>
    </>
  );
}

function Arriving({ listeners }: { listeners: readonly Listener[] }): JSX.Element {
  return (
    <>
      <h2 class="h">Arriving</h2>
      <table class="t dense gap">
        <thead>
          <tr>
            <th>listener</th>
            <th class="n">connections</th>
            <th class="n">received</th>
            <th class="n">refused</th>
            <th class="n">lost</th>
          </tr>
        </thead>
        <tbody>
          {listeners.map((one) => (
            <tr key={one.name}>
              <td class="s">{one.name}</td>
              <td class="n">{grouped(one.sessions)}</td>
              <td class="n">{one.received_bytes ? amount("bytes", one.received_bytes) : "nothing yet"}</td>
              <td class={one.refused ? "n bad" : "n dim3"}>{grouped(one.refused)}</td>
              <td class={one.lost ? "n bad" : "n dim3"}>{grouped(one.lost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** The page. */
export function Now(): JSX.Element {
  const [round, setRound] = useState(0);
  const { answer, problem } = useAnswer<Capture>(`captures?round=${round}`);
  const listeners = useAnswer<Listener>(`listeners?round=${round}`);
  const captures = answer?.rows ?? [];
  const list = services(captures);
  const stored = captures.flatMap((capture) => capture.parts).reduce((sum, part) => sum + part.stored_bytes, 0);
  const isEmpty = answer && !captures.length;
  const send = (
    <section>
      <Arriving listeners={listeners.answer?.rows ?? []} />
      <h2 class="h">Send data</h2>
      {(listeners.answer?.rows ?? []).map(
        ({ name, send_to }) => send_to && <Copied key={name} command={`traceloom send FILE --to ${send_to}`} />,
      )}
      <Copied command={`traceloom push FILE --to ${location.origin}`} />
      <Drop done={() => setRound(round + 1)} />
    </section>
  );
  return (
    <main class="page">
      <Said problem={problem} messages={answer?.messages} />
      {problem && !answer ? null : isEmpty ? (
        <h1 class="finding">Nothing has arrived.</h1>
      ) : (
        <h1 class="finding">
          {answer ? `${counted(list.length, "service")} sent ${counted(captures.length, "capture")}.` : "Reading"}
        </h1>
      )}
      <div class="columns">
        {isEmpty || (
          <section>
            <h2 class="h">Services</h2>
            <table class="t">
              <thead>
                <tr>
                  <th>service</th>
                  <th class="wide">namespace</th>
                  <th class="n">captures</th>
                  <th class="n wide">being sent</th>
                  <th class="n wide">instances</th>
                  <th class="n">size</th>
                  <th>last began</th>
                </tr>
              </thead>
              <tbody>
                {list.map((service) => (
                  <tr key={`${service.namespace}/${service.name}`}>
                    <td>
                      <Link to={`/calls?svc=${encodeURIComponent(service.name)}`} class="s">
                        {service.name || "no name"}
                      </Link>
                    </td>
                    <td class="dim wide">{service.namespace || "–"}</td>
                    <td class="n">{grouped(service.captures)}</td>
                    <td class="n wide">{grouped(service.open)}</td>
                    <td class="n wide">{grouped(service.instances.size)}</td>
                    <td class="n">{amount("bytes", service.bytes)}</td>
                    <td class="dim">{ago(service.last, Date.now())}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            <p class="dim sm">
              {amount("bytes", stored)} sealed on disk · <Link to="/captures">all captures</Link>
            </p>
          </section>
        )}
        {send}
      </div>
    </main>
  );
}
