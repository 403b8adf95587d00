/* Where a token is asked for. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Address, go } from "./address";
import { Problem } from "./api";
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
      setProblem(error instanceof Problem ? error.message : "The collector does not answer.");
    }
  };
  return (
    <main class="page narrow">
      <h1 class="finding">This collector asks for a token.</h1>
      <p class="lead dim">
        Whoever runs it makes one with <code>traceloom token add NAME --right read</code>. The browser keeps a session
        of twelve hours, not the token.
      </p>
      <form class="row" onSubmit={submit}>
        <label class="field grow">
          <span class="vh">Token</span>
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
          Log in
        </button>
      </form>
      <p id="why" class="bad" aria-live="polite">
        {problem && `Not accepted: ${problem}`}
      </p>
    </main>
  );
}
