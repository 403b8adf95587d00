/* Files that are dropped anywhere on a page, or chosen. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { amount } from "../shared/amount";
import { upload } from "./api";
import { Icon } from "./icons";
import { say } from "./language";

/** A file on its way. */
export interface Sending {
  name: string;
  bytes: number;
  sent: number;
  /** What became of it; empty while it is sent. */
  end: string;
  isKept: boolean;
  cancel: () => void;
}

/** Sends files one after another. */
export function useUploads(done: () => void): { sending: readonly Sending[]; send: (files: Iterable<File>) => void } {
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const send = async (files: Iterable<File>) => {
    for (const file of files) {
      const control = new AbortController();
      const one: Sending = {
        name: file.name,
        bytes: file.size,
        sent: 0,
        end: "",
        isKept: false,
        cancel: () => control.abort(),
      };
      const change = (to: Partial<Sending>) => {
        Object.assign(one, to);
        setSending((all) => [...all]);
      };
      setSending((all) => [...all, one]);
      const end = await upload(file, control.signal, (sent) => change({ sent }));
      change({ end: end.text, isKept: end.isKept, sent: file.size });
      if (end.isKept) done();
    }
  };
  return { sending, send: (files) => void send(files) };
}

/** What is being sent, a line each. */
export function Sent({ sending }: { sending: readonly Sending[] }): JSX.Element {
  return (
    <ul aria-live="polite" class="sent">
      {sending.map((one, number) => (
        <li key={`${number} ${one.name}`} class="row sm">
          {one.end ? (
            <span class={one.isKept ? "dim" : "bad"}>{one.end}</span>
          ) : (
            <>
              <span>{one.name}</span>
              <progress max={Math.max(one.bytes, 1)} value={one.sent} aria-label={one.name} />
              <span class="dim">
                {say("part", { part: amount("bytes", one.sent), whole: amount("bytes", one.bytes) })}
              </span>
              <button type="button" class="btn" onClick={one.cancel}>
                {say("cancel")}
              </button>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The place to drop files on; the whole page takes them. */
export function Drop(props: { send: (files: Iterable<File>) => void; children?: ComponentChildren }): JSX.Element {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!event.relatedTarget) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      setOver(false);
      props.send([...event.dataTransfer.files]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, [props.send]);
  return (
    <label class={isOver ? "drop over" : "drop"}>
      <Icon name="upload" />
      <span>{props.children ?? say("drop.kept")}</span>
      <input
        class="vh"
        type="file"
        multiple
        onChange={(event) => {
          props.send([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}
