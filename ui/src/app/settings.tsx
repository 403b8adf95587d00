/* Settings: what the operator set, who has tokens, and what this browser remembers. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount, counted } from "../shared/amount";
import { type Address, go, refresh } from "./address";
import { type Listener, Problem } from "./api";
import { Copied, Said, useAnswer, useRead } from "./frame";
import { change, end, type Session } from "./session";
import { isLocalTime, moment, switchZone } from "./times";

interface Settings {
  settings: Record<string, string | number | boolean>;
  requires_token: boolean;
  data: string;
  version: string;
  tokens: { name: string; rights: string[]; created_ns: number }[];
}

const RIGHTS = ["read", "upload", "write"] as const;
/** Settings that have a section of their own, or are told in another way. */
const LISTENERS: readonly (readonly [setting: string, name: string])[] = [
  ["cdt", "CDT agents"],
  ["heph", "Heph"],
  ["heph-udp", "Heph over UDP"],
  ["tptp", "TPTP"],
  ["http", "HTTP"],
  ["otlp-grpc", "OpenTelemetry, gRPC"],
];

/** What was set when the collector was started: the page shows it and does not change it. */
function Fixed({ children }: { children: JSX.Element | string }): JSX.Element {
  return (
    <>
      {children} <span class="dim3 sm">set by the operator</span>
    </>
  );
}

function Listeners({ settings, address }: { settings: Settings; address: Address }): JSX.Element {
  const { answer } = useAnswer<Listener>("listeners");
  const isBinary = address.of("binary") === "1";
  const tptp = answer?.rows.find(({ name }) => name === "tptp")?.send_to;
  return (
    <section class="blk">
      <h2 class="h">Listeners</h2>
      <table class="t">
        <tbody>
          {LISTENERS.map(([setting, name]) => {
            const value = String(settings.settings[setting] ?? "off");
            return (
              <tr key={setting}>
                <td class="s">{name}</td>
                <td class="x">
                  <Fixed>{value === "off" ? "off" : value}</Fixed>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <h3 class="s blk">TPTP</h3>
      <label class="check">
        <input type="checkbox" checked={isBinary} onChange={() => go(address.with({ binary: isBinary ? "" : "1" }))} />{" "}
        Binary Transfer Format
      </label>
      <p class="dim sm">
        An agent sends XML unless it is asked for the binary form, which is smaller. It is asked when it is attached to:
      </p>
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
      setSaid(error instanceof Problem ? error : new Problem("The collector does not answer.", null));
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
      <h2 class="h">Tokens</h2>
      <Said problem={said} />
      {settings.tokens.length > 0 && (
        <table class="t">
          <thead>
            <tr>
              <th>name</th>
              <th>may</th>
              <th>made</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {settings.tokens.map((token) => (
              <tr key={token.name}>
                <td class="s">{token.name}</td>
                <td>{token.rights.join(", ")}</td>
                <td class="dim">{moment(token.created_ns)}</td>
                <td class="n">
                  {mayChange && (
                    <button type="button" class="btn" onClick={() => revoke(token.name)}>
                      Revoke
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!settings.tokens.length && <p class="dim">There are none.</p>}
      {made && (
        <div aria-live="polite">
          <p class="ok">Saved. The token of {made.name} is shown once:</p>
          <Copied command={made.token} />
        </div>
      )}
      {mayChange ? (
        <form class="row" onSubmit={add}>
          <label class="field">
            <span class="vh">Name of the token</span>
            <input value={name} placeholder="whom it is for" onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          {RIGHTS.filter((right) => session?.rights?.includes(right)).map((right) => (
            <label key={right} class="check">
              <input
                type="checkbox"
                checked={rights.includes(right)}
                onChange={() =>
                  setRights(rights.includes(right) ? rights.filter((one) => one !== right) : [...rights, right])
                }
              />{" "}
              {right}
            </label>
          ))}
          <button type="submit" class="btn line" disabled={!name.trim() || !rights.length}>
            Make a token
          </button>
        </form>
      ) : (
        <>
          <p class="dim sm">
            {settings.requires_token
              ? "The token may read, not write. Ask for one with write, or make tokens on the machine:"
              : "On this machine nobody needs one; other machines do. Tokens are made on the machine:"}
          </p>
          <Copied command={`traceloom token add NAME --right read --data ${settings.data}`} />
        </>
      )}
      {session?.rights && (
        <p class="row">
          <span class="dim grow">Your session may {session.rights.join(", ")}.</span>
          <button type="button" class="btn" onClick={() => void end().then(() => go("/login"))}>
            Log out
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
    ([name]) => !LISTENERS.some(([listener]) => listener === name) && !["keep-days", "keep-mib"].includes(name),
  );
  const asFile = (value: string | number | boolean) =>
    typeof value === "string" && !value.startsWith("[") ? `"${value}"` : String(value);
  return (
    <main class="page narrow">
      <h1 class="finding">Settings</h1>
      <Said problem={problem} />
      {settings && (
        <>
          <Listeners settings={settings} address={address} />
          <Tokens settings={settings} session={session.answer} changed={() => setRound(round + 1)} />
          <section class="blk">
            <h2 class="h">Retention</h2>
            <p>
              <Fixed>
                {days === undefined
                  ? "Captures are kept until they are deleted."
                  : `Captures are kept ${counted(Number(days), "day")}; pinned ones stay.`}
              </Fixed>
            </p>
            <p>
              <Fixed>
                {mib === undefined
                  ? "There is no limit of size."
                  : `The oldest go when all take more than ${amount("bytes", Number(mib) * 2 ** 20)}.`}
              </Fixed>
            </p>
          </section>
          <section class="blk">
            <h2 class="h">
              As the file has them <small>traceloom serve --config FILE</small>
            </h2>
            <pre>
              {[...Object.entries(settings.settings)].map(([name, value]) => `${name} = ${asFile(value)}`).join("\n")}
            </pre>
            <p class="dim sm">
              {counted(rest.length, "more setting")} beside listeners and retention, each set by the operator: a flag
              comes before the environment, and that before the file.
            </p>
          </section>
          <section class="blk">
            <h2 class="h">This browser</h2>
            <label class="check">
              <input
                type="checkbox"
                checked={isLocalTime()}
                onChange={() => {
                  switchZone();
                  refresh();
                }}
              />{" "}
              Times of my zone, not UTC
            </label>
          </section>
          <p class="dim sm blk">
            traceloom {settings.version}, data folder {settings.data}
          </p>
        </>
      )}
    </main>
  );
}
