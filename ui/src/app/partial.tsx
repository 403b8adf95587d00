/* What answers were not made from: captures have more bytes than a question may read. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { amount } from "../shared/amount";
import { type Address, go } from "./address";
import type { PartialRead } from "./api";
import { say } from "./language";

/** By whom they are seen. */
const seen = new Map<object, PartialRead>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Has the page say that an answer is partial, as long as it is seen. */
export function usePartial(partial: PartialRead | undefined): void {
  const self = useRef({}).current;
  useEffect(() => {
    if (!partial) return;
    seen.set(self, partial);
    tell();
    return () => {
      seen.delete(self);
      tell();
    };
  }, [partial]);
}

/** What the answers on a page were not made from, and the way to read on. */
export function ReadOn({ address }: { address: Address }): JSX.Element {
  const [, setRound] = useState(0);
  useEffect(() => {
    const listener = () => setRound((round) => round + 1);
    listeners.add(listener);
    listener();
    return () => {
      listeners.delete(listener);
    };
  }, []);
  const share = (one: PartialRead) => one.read_bytes / Math.max(one.of_bytes, 1);
  const [least] = [...seen.values()].sort((a, b) => share(a) - share(b));
  const next = least?.next_budget_bytes;
  return (
    <div aria-live="polite" class="partial">
      {least && (
        <p class="note">
          {say("read.part", {
            ...{ read: amount("bytes", least.read_bytes), of: amount("bytes", least.of_bytes) },
            ...{ newest: String(least.captures_read), captures: least.captures },
          })}{" "}
          {next && (
            <button type="button" class="btn line" onClick={() => go(address.with({ budget: String(next) }))}>
              {say("read.on")}
            </button>
          )}
        </p>
      )}
    </div>
  );
}
