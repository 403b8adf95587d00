/* What the collector answers. */

/** A stream of a capture. */
export interface CapturePart {
  name: string;
  bytes: number;
  stored_bytes: number;
  units: number;
}

/** What one sender sent over one connection. */
export interface Capture {
  id: string;
  protocol: string | null;
  state: string;
  opened_ns: number | null;
  namespace: string;
  service: string;
  instance: string;
  pinned: boolean;
  parts: CapturePart[];
  doubts: string[];
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

/** A call; its columns are those of `calls --json`. */
export interface Call {
  id: string;
  capture?: { id: string; call: string };
  start: number;
  duration: number;
  cpu?: number | null;
  suspended?: number | null;
  queue?: number | null;
  calls?: number | null;
  thread: string | null;
  title: string | null;
  method: string | null;
  status: string;
  error: boolean;
  counters?: Record<string, number>;
  attributes?: Record<string, unknown>;
}

/** A call with everything in it. */
export interface CallDetail {
  title: string;
  thread: string;
  start_ns: number;
  duration_ns: number;
  sql: { sql: string; times: number; time_ns: number }[];
  spans: { depth: number; function: string; start_ns: number; end_ns: number; self_ns: number; failed: boolean }[];
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

/** Rows, and what was said while they were made. */
export interface Answer<R> {
  rows: R[];
  messages: string[];
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

/** Asks the collector; what was asked is taken back through `signal`. */
export async function ask<R>(path: string, signal?: AbortSignal): Promise<Answer<R>> {
  const response = await fetch(`/api/v1/${path}`, signal ? { signal } : {});
  const body = await response.json();
  if (response.ok) return body;
  const why = body.detail ?? body.error ?? body.title ?? `the collector answers ${response.status}`;
  throw new Problem(String(why), body.column ?? null);
}

/** Sends a file as it is; returns the sentence that says what became of it. */
export async function upload(file: File): Promise<string> {
  const name = encodeURIComponent(file.name);
  const response = await fetch(`/api/v1/upload?name=${name}`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
  });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return `${file.name} is kept${body.id ? ` as ${body.id}` : ""}`;
  return `${file.name} is refused: ${body.error ?? response.status}`;
}
