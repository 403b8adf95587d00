import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Address, go, onAddress } from "../app/address";
import { onRefused } from "../app/api";
import { CallPage } from "../app/call";
import { CallsPage } from "../app/calls";
import { CapturesPage } from "../app/captures";
import { DrawPage } from "../app/draw";
import { startTheme, Top } from "../app/frame";
import { type Plain, say, startLanguage } from "../app/language";
import { Login } from "../app/login";
import { MemoryPage } from "../app/memory";
import { Now } from "../app/now";
import { ReadOn } from "../app/partial";
import { ProfilesPage } from "../app/profiles";
import { session } from "../app/session";
import { SettingsPage } from "../app/settings";
import { TimelinePage } from "../app/timeline";

/** What pages are called, by the first part of their address. */
const NAMES: Readonly<Record<string, Plain>> = {
  calls: "page.calls",
  call: "page.call",
  captures: "page.captures",
  profiles: "page.profiles",
  timeline: "page.timeline",
  memory: "page.memory",
  draw: "page.report",
  login: "page.login",
  settings: "page.settings",
};

function App() {
  const [address, setAddress] = useState(Address.now);
  // Before the effects of pages, which may go elsewhere.
  useLayoutEffect(() => onAddress(() => setAddress(Address.now())), []);
  useEffect(() => {
    const [, page = ""] = address.page.split("/");
    document.title = `${say(NAMES[page] ?? "page.now")} · traceloom`;
  }, [address]);
  const page = () => {
    if (address.page.startsWith("/call/")) return <CallPage key={address.page} address={address} />;
    if (/^\/captures(\/|$)/.test(address.page)) return <CapturesPage address={address} />;
    switch (address.page) {
      case "/calls":
        return <CallsPage address={address} />;
      case "/profiles":
        return <ProfilesPage address={address} />;
      case "/timeline":
        return <TimelinePage address={address} />;
      case "/memory":
        return <MemoryPage address={address} />;
      case "/draw":
        return <DrawPage address={address} />;
      case "/login":
        return <Login address={address} />;
      case "/settings":
        return <SettingsPage address={address} />;
      default:
        return <Now address={address} />;
    }
  };
  return (
    <>
      <Top address={address} />
      <ReadOn address={address} />
      {page()}
    </>
  );
}

onRefused(() => {
  const here = location.pathname + location.search + location.hash;
  if (location.pathname !== "/login") go(`/login?next=${encodeURIComponent(here)}`, true);
});
startTheme();
startLanguage();
// Changes of a session need its secret; reading does not wait for it.
void session().catch(() => undefined);
render(<App />, document.body);
