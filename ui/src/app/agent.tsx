/* What the agent of an open connection can be asked to do, and what it said. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Capture, Problem } from "./api";
import { Link, Said, useRead } from "./frame";
import { known, type Plain, say } from "./language";
import { change, type Session } from "./session";

/** Commands that agents know. */
const WORDS = ["td", "top", "heap"] as const;
/** How often a result that is missing is looked for, in milliseconds. */
const WAIT = 2000;

/** What a command is called. */
const called = (word: string): string => known(`agent.${word}`) ?? word;

/** What came of a command. */
function outcome(succeeded: boolean | null, isOpen: boolean): { text: Plain; tone: string } {
  if (succeeded !== null) return succeeded ? { text: "agent.done", tone: "ok" } : { text: "agent.failed", tone: "bad" };
  return isOpen ? { text: "agent.waiting", tone: "dim" } : { text: "agent.silent", tone: "warn" };
}

/** The section of a capture; nothing where there is no agent and was no command. */
export function AgentCommands(props: { capture: Capture; changed: () => void }): JSX.Element | null {
  const { capture, changed } = props;
  const session = useRead<Session>("session");
  const [isSending, setSending] = useState(false);
  const [said, setSaid] = useState<Problem>();
  const isOpen = capture.protocol === "cdt" && capture.state === "open";
  const isWaiting = isOpen && capture.commands.some(({ succeeded }) => succeeded === null);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(changed, WAIT);
    return () => clearInterval(timer);
  }, [isWaiting]);
  if (!isOpen && !capture.commands.length) return null;
  const send = async (command: string) => {
    setSending(true);
    setSaid(undefined);
    try {
      await change("POST", `captures/${encodeURIComponent(capture.id)}/commands`, { command });
      changed();
    } catch (error) {
      setSaid(error instanceof Problem ? error : new Problem(say("silent"), null));
    }
    setSending(false);
  };
  const mayWrite = session.answer?.rights?.includes("write");
  const here = encodeURIComponent(location.pathname + location.search);
  return (
    <section aria-label={say("agent")}>
      <h3 class="h2">{say("agent")}</h3>
      {isOpen && mayWrite && (
        <p class="row">
          {WORDS.map((word) => (
            <button key={word} type="button" class="btn line" disabled={isSending} onClick={() => void send(word)}>
              {called(word)}
            </button>
          ))}
        </p>
      )}
      {isOpen && mayWrite && <p class="dim sm">{say("agent.how")}</p>}
      {isOpen && session.answer && !mayWrite && (
        <p class="dim sm">
          {say("agent.token")} <Link to={`/login?next=${here}`}>{say("login.begin")}</Link>
        </p>
      )}
      <Said problem={said} />
      {capture.commands.length > 0 && (
        <table class="t dense" aria-live="polite">
          <thead>
            <tr>
              <th>{say("agent.command")}</th>
              <th>{say("agent.result")}</th>
              <th>{say("agent.id")}</th>
            </tr>
          </thead>
          <tbody>
            {capture.commands.toReversed().map(({ id, command, succeeded }) => {
              const { text, tone } = outcome(succeeded, isOpen);
              return (
                <tr key={id}>
                  <td>{called(command)}</td>
                  <td class={tone}>{say(text)}</td>
                  <td class="code dim3">{id}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}
