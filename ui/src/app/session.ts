/* Who asks: whether a token is needed, and what the one of the session allows. */
import { changing, keepSecret, Problem, read } from "./api";
import { say } from "./language";

/** What the collector says of who asks. */
export interface Session {
  requires_token: boolean;
  /** What the token of the session allows; null without a session. */
  rights: string[] | null;
  secret: string | null;
}

/** Asks who is asking, and keeps what changes need. */
export async function session(): Promise<Session> {
  const found = await read<Session>("session");
  keepSecret(found.secret);
  return found;
}

/** Sends what changes something; returns the answer. */
export async function change<A>(method: string, path: string, body?: unknown): Promise<A | undefined> {
  const response = await fetch(`/api/v1/${path}`, {
    method,
    headers: changing("application/json"),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = response.status === 204 ? undefined : await response.json().catch(() => undefined);
  if (response.ok) return answer;
  throw new Problem(
    String(answer?.detail ?? answer?.title ?? say("answers", { status: String(response.status) })),
    null,
  );
}

/** Begins a session with a token. */
export async function begin(token: string): Promise<Session> {
  const found = await change<Session>("POST", "session", { token });
  keepSecret(found?.secret ?? null);
  return found as Session;
}

/** Ends the session. */
export async function end(): Promise<void> {
  await change("DELETE", "session");
  keepSecret(null);
}
