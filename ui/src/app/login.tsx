/* Where a token is asked for. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Address, go } from "./address";
import { Problem } from "./api";
import { say, show } from "./language";
import { begin } from "./session";

/** An address of this app, and of nothing else. */
export const within = (address: string): string => (/^\/(?![/\\])/.test(address) ? address : "/");

/** The page. */
export function Login({ address }: { address: Address }): JSX.Element {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await begin(token.trim());
      go(within(address.of("next")), true);
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : say("silent"));
    }
  };
  return (
    <main class="page narrow">
      <h1 class="finding">{say("login")}</h1>
      <p class="lead dim">{show("login.how", { command: <code>traceloom token add NAME --right read</code> })}</p>
      <form class="row" onSubmit={submit}>
        <label class="field grow">
          <span class="vh">{say("login.token")}</span>
          <input
            type="password"
            autocomplete="current-password"
            placeholder="tl_…"
            value={token}
            aria-invalid={Boolean(problem)}
            aria-describedby="why"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn primary" disabled={!token.trim()}>
          {say("login.begin")}
        </button>
      </form>
      <p id="why" class="bad" aria-live="polite">
        {problem && say("login.refused", { why: problem })}
      </p>
    </main>
  );
}
