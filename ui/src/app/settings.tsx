/* Settings: what the operator set, who has tokens, and what this browser remembers. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount } from "../shared/amount";
import { type Address, go, refresh } from "./address";
import { type Listener, Problem } from "./api";
import { Copied, Said, useAnswer, useRead } from "./frame";
import { chooseLanguage, chosenLanguage, known, LANGUAGES, type Language, type Plain, say } from "./language";
import { change, end, type Session } from "./session";
import { Filters, Kinds, type Shown } from "./settings_views";
import { isLocalTime, moment, switchZone } from "./times";

interface Settings {
  settings: Record<string, string | number | boolean>;
  shown: Shown;
  requires_token: boolean;
  data: string;
  version: string;
  tokens: { name: string; rights: string[]; created_ns: number }[];
}

const RIGHTS = ["read", "upload", "write"] as const;
/** Settings that have a section of their own, or are told in another way. */
const LISTENERS: readonly (readonly [setting: string, name: Plain])[] = [
  ["cdt", "listener.cdt"],
  ["heph", "listener.heph"],
  ["heph-udp", "listener.heph-udp"],
  ["tptp", "listener.tptp"],
  ["http", "listener.http.short"],
  ["otlp-grpc", "listener.otlp-grpc"],
];

/** What a right is called. */
const right = (name: string): string => known(`right.${name}`) ?? name;

/** What was set when the collector was started: the page shows it and does not change it. */
function Fixed({ children }: { children: JSX.Element | string }): JSX.Element {
  return (
    <>
      {children} <span class="dim3 sm">{say("settings.operator")}</span>
    </>
  );
}

function Listeners({ settings, address }: { settings: Settings; address: Address }): JSX.Element {
  const { answer } = useAnswer<Listener>("listeners");
  const isBinary = address.of("binary") === "1";
  const tptp = answer?.rows.find(({ name }) => name === "tptp")?.send_to;
  return (
    <section class="blk">
      <h2 class="h">{say("settings.listeners")}</h2>
      <table class="t">
        <tbody>
          {LISTENERS.map(([setting, name]) => {
            const value = String(settings.settings[setting] ?? "off");
            // Port 0 is one that the system chose.
            const taken = answer?.rows.find((one) => one.name.replace("_", "-") === setting)?.send_to;
            const shown = value.endsWith(":0") && taken ? taken.replace(/^\w+:\/\//, "") : value;
            return (
              <tr key={setting}>
                <td class="s">{say(name)}</td>
                <td class="x">
                  <Fixed>{value === "off" ? say("settings.off") : shown}</Fixed>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <h3 class="s blk">TPTP</h3>
      <label class="check">
        <input type="checkbox" checked={isBinary} onChange={() => go(address.with({ binary: isBinary ? "" : "1" }))} />{" "}
        {say("settings.binary")}
      </label>
      <p class="dim sm">{say("settings.binary.how")}</p>
      <Copied
        command={`traceloom attach HOST:PORT --to ${tptp ?? "tptp://127.0.0.1:1718"}${isBinary ? " --binary-transfer" : ""}`}
      />
    </section>
  );
}

function Tokens(props: { settings: Settings; session: Session | undefined; changed: () => void }): JSX.Element {
  const { settings, session } = props;
  const [name, setName] = useState("");
  const [rights, setRights] = useState<string[]>(["read"]);
  const [made, setMade] = useState<{ name: string; token: string }>();
  const [said, setSaid] = useState<Problem>();
  const mayChange = settings.requires_token && session?.rights?.includes("write");
  const attempt = async (work: () => Promise<void>) => {
    setSaid(undefined);
    try {
      await work();
      props.changed();
    } catch (error) {
      setSaid(error instanceof Problem ? error : new Problem(say("silent"), null));
    }
  };
  const add = (event: Event) => {
    event.preventDefault();
    void attempt(async () => {
      setMade(await change("POST", "tokens", { name: name.trim(), rights }));
      setName("");
    });
  };
  const revoke = (token: string) =>
    void attempt(async () => void (await change("DELETE", `tokens/${encodeURIComponent(token)}`)));
  return (
    <section class="blk">
      <h2 class="h">{say("settings.tokens")}</h2>
      <Said problem={said} />
      {settings.tokens.length > 0 && (
        <table class="t">
          <thead>
            <tr>
              <th>{say("name")}</th>
              <th>{say("settings.may")}</th>
              <th>{say("settings.made")}</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {settings.tokens.map((token) => (
              <tr key={token.name}>
                <td class="s">{token.name}</td>
                <td>{token.rights.map(right).join(", ")}</td>
                <td class="dim">{moment(token.created_ns)}</td>
                <td class="n">
                  {mayChange && (
                    <button type="button" class="btn" onClick={() => revoke(token.name)}>
                      {say("settings.revoke")}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!settings.tokens.length && <p class="dim">{say("settings.tokens.none")}</p>}
      {made && (
        <div aria-live="polite">
          <p class="ok">{say("settings.token.once", { name: made.name })}</p>
          <Copied command={made.token} />
        </div>
      )}
      {mayChange ? (
        <form class="row" onSubmit={add}>
          <label class="field">
            <span class="vh">{say("settings.token.name")}</span>
            <input
              value={name}
              placeholder={say("settings.token.whom")}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          {RIGHTS.filter((name) => session?.rights?.includes(name)).map((name) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={rights.includes(name)}
                onChange={() =>
                  setRights(rights.includes(name) ? rights.filter((one) => one !== name) : [...rights, name])
                }
              />{" "}
              {right(name)}
            </label>
          ))}
          <button type="submit" class="btn line" disabled={!name.trim() || !rights.length}>
            {say("settings.token.make")}
          </button>
        </form>
      ) : (
        <>
          <p class="dim sm">{say(settings.requires_token ? "settings.token.read" : "settings.token.open")}</p>
          <Copied command={`traceloom token add NAME --right read --data ${settings.data}`} />
        </>
      )}
      {session?.rights && (
        <p class="row">
          <span class="dim grow">{say("settings.session", { rights: session.rights.map(right).join(", ") })}</span>
          <button type="button" class="btn" onClick={() => void end().then(() => go("/login"))}>
            {say("settings.end")}
          </button>
        </p>
      )}
    </section>
  );
}

/** The page. */
export function SettingsPage({ address }: { address: Address }): JSX.Element {
  const [round, setRound] = useState(0);
  const { answer: settings, problem } = useRead<Settings>(`settings?round=${round}`);
  const session = useRead<Session>("session");
  const days = settings?.settings["keep-days"];
  const mib = settings?.settings["keep-mib"];
  const rest = Object.entries(settings?.settings ?? {}).filter(
    ([name]) =>
      !LISTENERS.some(([listener]) => listener === name) &&
      !["keep-days", "keep-mib", "categories", "filters"].includes(name),
  );
  const asFile = (value: string | number | boolean) =>
    typeof value === "string" && !value.startsWith("[") ? `"${value}"` : String(value);
  return (
    <main class="page narrow">
      <h1 class="finding">{say("page.settings")}</h1>
      <Said problem={problem} />
      {settings && (
        <>
          <Listeners settings={settings} address={address} />
          <Tokens settings={settings} session={session.answer} changed={() => setRound(round + 1)} />
          <section class="blk">
            <h2 class="h">{say("settings.retention")}</h2>
            <p>
              <Fixed>
                {days === undefined
                  ? say("settings.retention.none")
                  : say("settings.retention.days", { days: Number(days) })}
              </Fixed>
            </p>
            <p>
              <Fixed>
                {mib === undefined
                  ? say("settings.retention.unlimited")
                  : say("settings.retention.size", { size: amount("bytes", Number(mib) * 2 ** 20) })}
              </Fixed>
            </p>
          </section>
          <Filters filters={settings.shown.filters} file={String(settings.settings.filters ?? "")} />
          <Kinds rules={settings.shown.categories} file={String(settings.settings.categories ?? "")} />
          <section class="blk">
            <h2 class="h">
              {say("settings.file")} <small>traceloom serve --config FILE</small>
            </h2>
            <pre>
              {[...Object.entries(settings.settings)].map(([name, value]) => `${name} = ${asFile(value)}`).join("\n")}
            </pre>
            <p class="dim sm">{say("settings.rest", { settings: rest.length })}</p>
          </section>
          <section class="blk">
            <h2 class="h">{say("settings.browser")}</h2>
            <label class="check">
              <input
                type="checkbox"
                checked={isLocalTime()}
                onChange={() => {
                  switchZone();
                  refresh();
                }}
              />{" "}
              {say("settings.zone")}
            </label>
            <label class="select blk">
              <span class="dim3">{say("settings.language")}</span>
              <select
                value={chosenLanguage()}
                onChange={(event) => {
                  chooseLanguage(event.currentTarget.value as Language | "");
                  refresh();
                }}
              >
                <option value="">{say("settings.language.browser")}</option>
                {LANGUAGES.map(([language, name]) => (
                  <option key={language} value={language} lang={language}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          </section>
          <p class="dim sm blk">{say("settings.version", { version: settings.version, folder: settings.data })}</p>
        </>
      )}
    </main>
  );
}
