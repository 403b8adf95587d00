/* Settings of what pages go by: kinds of work, and filters with names. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Problem, read } from "./api";
import { keepFilters, type NamedFilter, ownText, readFilters } from "./filters";
import { Link } from "./frame";
import { say } from "./language";

/** What pages go by. */
export interface Shown {
  /** The rules of kinds of work, as their file has them. */
  categories: string;
  filters: NamedFilter[];
}

/** The rules of kinds of work; `file` is where the operator keeps them. */
export function Kinds({ rules, file }: { rules: string; file: string }): JSX.Element {
  return (
    <section class="blk">
      <h2 class="h">
        {say("kinds")} <small>traceloom serve --categories FILE</small>
      </h2>
      <p class="dim sm">{file ? say("kinds.file", { file }) : say("kinds.own")}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys. */}
      <pre class="long" tabIndex={0}>
        {rules.trim()}
      </pre>
    </section>
  );
}

/** Says what is wrong with the first line that is no filter. */
async function wrongLine(text: string): Promise<string> {
  const { filters, wrong } = readFilters(text);
  if (wrong) return say("filters.wrong", { line: wrong.line, text: wrong.text });
  for (const { name, filter } of filters) {
    try {
      await read(`query?q=${encodeURIComponent(filter)}`);
    } catch (error) {
      return `${name}: ${error instanceof Problem ? error.message : say("silent")}`;
    }
  }
  return "";
}

/** Filters of the operator, which are read, and those of this browser, which are written here. */
export function Filters({ filters, file }: { filters: readonly NamedFilter[]; file: string }): JSX.Element {
  const [text, setText] = useState(ownText);
  const [said, setSaid] = useState<{ text: string; isWrong: boolean }>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const wrong = await wrongLine(text);
    if (!wrong) keepFilters(text);
    setSaid({ text: wrong || say("filters.saved"), isWrong: Boolean(wrong) });
  };
  return (
    <section class="blk">
      <h2 class="h">
        {say("filters")} <small>traceloom serve --filters FILE</small>
      </h2>
      <p class="dim sm">{file ? say("filters.file", { file }) : say("filters.none")}</p>
      {filters.length > 0 && (
        <table class="t">
          <tbody>
            {filters.map(({ name, filter }) => (
              <tr key={name}>
                <td class="s">
                  <Link to={`/calls?q=${encodeURIComponent(filter)}`}>{name}</Link>
                </td>
                <td class="x">
                  <code>{filter}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form onSubmit={submit}>
        <label class="lines">
          <span class="dim sm">{say("filters.own")}</span>
          <textarea
            rows={4}
            spellcheck={false}
            value={text}
            placeholder={say("filters.example")}
            aria-invalid={said?.isWrong ?? false}
            aria-describedby="filters-said"
            onInput={(event) => {
              setText(event.currentTarget.value);
              setSaid(undefined);
            }}
          />
        </label>
        <p class="row">
          <button type="submit" class="btn line">
            {say("save")}
          </button>
          <span id="filters-said" class={said?.isWrong ? "bad" : "ok"} aria-live="polite">
            {said?.text}
          </span>
        </p>
      </form>
    </section>
  );
}
