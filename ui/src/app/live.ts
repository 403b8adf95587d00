/* Calls as they arrive. */
import { useEffect, useState } from "preact/hooks";
import { type Call, keyOf } from "./api";
import { say } from "./language";

/** Calls that are kept on top of a list; older ones are in the list when it is read again. */
const MOST = 1000;

/** What arrived since the question was asked, the newest first. */
export interface Live {
  calls: Call[];
  /** All that came, also those that are kept no more. */
  count: number;
  /** More came at once than were sent. */
  isMore: boolean;
  problem: string;
}

const NOTHING: Live = { calls: [], count: 0, isMore: false, problem: "" };

/** What arrived with one more call; one that ran comes again when it has ended, and counts once. */
export function withCall(live: Live, call: Call): Live {
  const others = live.calls.filter((one) => keyOf(one) !== keyOf(call));
  const isNew = others.length === live.calls.length;
  return { ...live, calls: [call, ...others].slice(0, MOST), count: live.count + Number(isNew) };
}

/** Follows a question; nothing is followed without one. */
export function useLive(question: string | undefined): Live {
  const [live, setLive] = useState<Live>(NOTHING);
  useEffect(() => {
    setLive(NOTHING);
    if (question === undefined) return;
    const source = new EventSource(`/api/v1/live?${question}`);
    const data = (event: Event) => JSON.parse((event as MessageEvent<string>).data);
    source.addEventListener("call", (event) => {
      const call: Call = data(event);
      setLive((live) => ({ ...withCall(live, call), problem: "" }));
    });
    source.addEventListener("more", () => setLive((live) => ({ ...live, isMore: true })));
    source.addEventListener("problem", (event) => {
      const { detail, title } = data(event);
      setLive((live) => ({ ...live, problem: String(detail ?? title ?? "") }));
    });
    source.onerror = () => setLive((live) => ({ ...live, problem: say("live.silent") }));
    source.onopen = () => setLive((live) => ({ ...live, problem: "" }));
    return () => source.close();
  }, [question]);
  return live;
}
