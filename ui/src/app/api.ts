/* What the collector answers. */
import { say } from "./language";

/** A stream of a capture. */
export interface CapturePart {
  name: string;
  bytes: number;
  stored_bytes: number;
  units: number;
}

/** What decoding a capture showed. */
export interface CaptureFacts {
  revision: number;
  decoded: boolean;
  records?: number;
  first_ns?: number | null;
  last_ns?: number | null;
  calls?: number;
  errors?: number;
  longest_ns?: number;
  notes?: { info: number; warn: number; damage: number };
}

/** What an agent was asked to do. */
export interface AgentCommand {
  id: string;
  command: string;
  /** Null before the agent reports. */
  succeeded: boolean | null;
}

/** What one sender sent over one connection. */
export interface Capture {
  id: string;
  protocol: string | null;
  state: string;
  opened_ns: number | null;
  closed_ns?: number | null;
  namespace: string;
  service: string;
  instance: string;
  version: string;
  pinned: boolean;
  /** Null until it is sealed and decoded. */
  facts: CaptureFacts | null;
  parts: CapturePart[];
  /** What its agent was asked to do. */
  commands: AgentCommand[];
  doubts: string[];
}

/** Everything that came from one service. */
export interface Service {
  namespace: string;
  service: string;
  instances: string[];
  /** From the oldest to the newest. */
  versions: string[];
  protocols: string[];
  captures: number;
  open: number;
  bytes: number;
  stored_bytes: number;
  first_ns: number | null;
  last_ns: number | null;
}

/** What listens, and what it did since the collector began. */
export interface Listener {
  name: string;
  send_to: string | null;
  sessions: number;
  received_bytes: number;
  refused: number;
  lost: number;
}

/** A page of calls. */
export interface CallPage extends Answer<Call> {
  /** What `after` takes for the rows behind; null where nothing follows. */
  next: string | null;
  counts: { read?: number; selected?: number; is_whole?: boolean; units?: Record<string, string> };
}

/** How many calls took how long, and when. */
export interface Overview {
  read: number;
  calls: number;
  errors: number;
  total_ns: number;
  durations: { p50: number | null; p95: number | null; max: number | null };
  first_ns: number | null;
  last_ns: number | null;
  /** Calls of clocks without dates, which the stretches leave out. */
  undated: number;
  longer: { duration_ns: number; calls: number }[];
  step_ns: number;
  /** The start of a stretch, the least duration of a band, calls, failed calls. */
  cells: [start: number, least: number, calls: number, errors: number][];
}

/** A call; its columns are those of `calls --json`. */
export interface Call {
  id: string;
  place?: string;
  capture?: { id: string; call: string };
  start: number;
  duration: number;
  cpu?: number | null;
  suspended?: number | null;
  queue?: number | null;
  calls?: number | null;
  /** Where it ran, where that is known. */
  service?: string | null;
  instance?: string | null;
  host?: string | null;
  thread: string | null;
  title: string | null;
  method: string | null;
  status: string;
  error: boolean;
  /** Its trace across processes. */
  trace?: string | null;
  counters?: Record<string, number>;
  attributes?: Record<string, unknown>;
}

/** Stands for a capture where a call is looked for in all of them. */
export const EVERY = "-";

/** The capture of a call and its name there; of one that only its trace names, that. */
export function placeOf(call: Call): { capture: string; id: string } | undefined {
  if (call.capture) return { capture: call.capture.id, id: call.capture.call };
  return call.trace ? { capture: EVERY, id: call.trace } : undefined;
}

/** Identifies a call among all captures. */
export const keyOf = (call: Call): string => `${call.capture?.id ?? ""}/${call.capture?.call ?? call.id}`;

/** The question for a call with its spans. */
export function callQuestion(place: { capture: string; id: string }, more: string): string {
  const capture = place.capture === EVERY ? "" : `capture=${encodeURIComponent(place.capture)}&`;
  return `calls/${encodeURIComponent(place.id)}?${capture}${more}`;
}

/** A call with everything in it. */
export interface CallDetail {
  title: string | null;
  thread: string | null;
  start_ns: number;
  duration_ns: number;
  suspended_ns: number | null;
  counters: Record<string, number>;
  sql: { sql: string; times: number; time_ns: number }[];
  spans: Span[];
  all_spans: number;
  left_out: number;
}

/** A span of a call. */
export interface Span {
  index: number;
  depth: number;
  below: number;
  function: string;
  /** From the start of the call, to the nanosecond; what began 1970 is known to a quarter of a microsecond. */
  offset_ns: number;
  duration_ns: number;
  self_ns: number;
  failed: boolean;
  /** The kind of work, or that it is the program's own. */
  category?: string;
  own_code?: boolean;
  attributes: { name: string; value: unknown; offset_ns?: number; from?: string }[];
  exceptions?: {
    class: string;
    message: string | null;
    stack: { function: string; file: string | null; line: number | null }[];
  }[];
  trace_id?: string;
  remote?: boolean;
  service?: string;
}

/** A note about damage or doubt. */
export interface Note {
  part: string;
  level: "info" | "warn" | "damage";
  kind: string;
  offset: number;
  count: number;
  text: string;
}

/** What an answer was made from, where more is chosen than a question may read. */
export interface PartialRead {
  read_bytes: number;
  of_bytes: number;
  captures_read: number;
  captures: number;
  /** A budget with which more is read. */
  next_budget_bytes: number | null;
}

/** Rows, and what was said while they were made. */
export interface Answer<R> {
  rows: R[];
  messages: string[];
  /** There where not all that is chosen was read. */
  partial?: PartialRead;
}

/** Why there is no answer. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly column: number | null,
  ) {
    super(message);
  }
}

/** Moments that are shown: of rows, and of a call, whose start is followed by how long it was suspended; not of its spans. */
const MOMENTS = /"(start|start_ns(?=":-?\d+,"suspended_ns")|opened_ns|closed_ns|first_ns|last_ns)":(-?\d{16,})/g;
const TEXT = "_text";

/** Reads an answer; the digits of moments, of which a number keeps the microseconds, stay as texts beside them. */
export const parsed = (text: string) => JSON.parse(text.replace(MOMENTS, `$&,"$1${TEXT}":"$2"`));

/** All digits of a moment of a row, where the answer had more than a number keeps. */
export const digitsOf = (row: object, name: string): string | undefined =>
  (row as Record<string, string | undefined>)[name + TEXT];

let refused = (): void => undefined;

/** Runs `listener` when the collector asks for a token. */
export function onRefused(listener: () => void): void {
  refused = listener;
}

/** Asks the collector; what was asked is taken back through `signal`. */
export async function read<A>(path: string, signal?: AbortSignal): Promise<A> {
  const response = await fetch(`/api/v1/${path}`, signal ? { signal } : {});
  const body = parsed(await response.text());
  if (response.ok) return body;
  if (response.status === 401) refused();
  const why = body.detail ?? body.error ?? body.title ?? say("answers", { status: String(response.status) });
  throw new Problem(String(why), body.column ?? null);
}

/** Asks for rows. */
export const ask = <R>(path: string, signal?: AbortSignal): Promise<Answer<R>> => read(path, signal);

/** What requests of a session that change something have in a header. */
let secret = "";

/** Keeps the secret of the session. */
export const keepSecret = (text: string | null): void => {
  secret = text ?? "";
};

/** Headers of a request that changes something. */
export const changing = (kind: string): Record<string, string> => ({
  "content-type": kind,
  ...(secret ? { "x-csrf-token": secret } : {}),
});

/** Sends a file as it is, and tells how much of it is sent; returns what became of it. */
export function upload(
  file: File,
  signal: AbortSignal,
  progress: (sent: number) => void,
): Promise<{ text: string; isKept: boolean }> {
  return new Promise((done) => {
    // Nothing else tells how much of a body was sent.
    const request = new XMLHttpRequest();
    request.open("POST", `/api/v1/upload?name=${encodeURIComponent(file.name)}`);
    for (const [name, value] of Object.entries(changing("application/octet-stream")))
      request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => progress(loaded);
    request.onload = () => {
      let body: { capture?: string; detail?: string; error?: string } = {};
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // Not from the collector: the status says it.
      }
      const isKept = request.status >= 200 && request.status < 300;
      const why = body.detail ?? body.error ?? say("answers", { status: String(request.status) });
      const text = isKept
        ? body.capture
          ? say("upload.kept.as", { file: file.name, capture: body.capture })
          : say("upload.kept", { file: file.name })
        : say("upload.refused", { file: file.name, why });
      done({ text, isKept });
    };
    request.onerror = () => done({ text: say("upload.silent", { file: file.name }), isKept: false });
    request.onabort = () => done({ text: say("upload.cancelled", { file: file.name }), isKept: false });
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
