import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Address, onAddress } from "../app/address";
import { CallPage } from "../app/call";
import { CallsPage } from "../app/calls";
import { CapturesPage } from "../app/captures";
import { DrawPage } from "../app/draw";
import { Top } from "../app/frame";
import { MemoryPage } from "../app/memory";
import { Now } from "../app/now";
import { ProfilesPage } from "../app/profiles";
import { TimelinePage } from "../app/timeline";

function App() {
  const [address, setAddress] = useState(Address.now);
  useEffect(() => onAddress(() => setAddress(Address.now())), []);
  useEffect(() => {
    const page = address.page.slice(1) || "now";
    document.title = `${page} · traceloom`;
  }, [address]);
  const page = () => {
    if (address.page.startsWith("/call/")) return <CallPage key={address.page} address={address} />;
    switch (address.page) {
      case "/calls":
        return <CallsPage address={address} />;
      case "/captures":
        return <CapturesPage address={address} />;
      case "/profiles":
        return <ProfilesPage address={address} />;
      case "/timeline":
        return <TimelinePage address={address} />;
      case "/memory":
        return <MemoryPage address={address} />;
      case "/draw":
        return <DrawPage address={address} />;
      default:
        return <Now />;
    }
  };
  return (
    <>
      <Top address={address} />
      {page()}
    </>
  );
}

render(<App />, document.body);
