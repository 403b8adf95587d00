/* A capture in another format: what that would lose is said before it begins. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { grouped } from "../shared/amount";
import { type Address, go } from "./address";
import { Said, useAnswer } from "./frame";
import { Icon } from "./icons";
import { say } from "./language";

/** A format that captures can be converted to. */
interface Format {
  name: string;
  title: string;
}

/** Values that change or are lost, of one kind. */
interface Loss {
  kind: string;
  field: string;
  count: number;
  example: string;
}

interface Losses {
  from: string;
  to: string;
  lost: Loss[];
  changed: Loss[];
}

const words = (text: string): string => text.replaceAll("_", " ");

function List({ title, of }: { title: string; of: readonly Loss[] }): JSX.Element | null {
  if (!of.length) return null;
  return (
    <>
      <h3 class="h2">{title}</h3>
      <table class="t dense">
        <tbody>
          {of.map((loss) => (
            <tr key={`${loss.kind} ${loss.field}`}>
              <td class="n">{grouped(loss.count)}</td>
              <td>{words(loss.kind)}</td>
              <td class="x dim">{loss.field || loss.example}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** The dialog. The format stands in the address. */
export function Convert({ address, capture }: { address: Address; capture: string }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const to = address.of("to");
  const id = encodeURIComponent(capture);
  const formats = useAnswer<Format>("formats");
  const asked = useAnswer<Losses>(
    to && to !== "choose" ? `captures/${id}/losses?to=${encodeURIComponent(to)}` : undefined,
  );
  const [losses] = asked.isAsking ? [] : (asked.answer?.rows ?? []);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const close = () => go(address.with({ to: "" }));
  return (
    <dialog ref={dialog} class="dialog" aria-label={say("convert")} onCancel={close} onClose={close}>
      <div class="row">
        <h2 class="h grow">{say("convert.capture", { capture })}</h2>
        <button type="button" class="btn icon" aria-label={say("close")} onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <label class="select">
        <span class="dim3">{say("convert.to")}</span>
        <select
          value={to === "choose" ? "" : to}
          onChange={(event) => go(address.with({ to: event.currentTarget.value || "choose" }), true)}
        >
          <option value="">{say("convert.choose")}</option>
          {(formats.answer?.rows ?? []).map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys. */}
      <section class="losses" tabIndex={0} aria-label={say("convert.losses")}>
        <Said problem={asked.problem} messages={losses ? asked.answer?.messages : undefined} />
        {asked.isAsking && <p class="dim">{say("convert.finding")}</p>}
        {losses && !losses.lost.length && !losses.changed.length && <p>{say("convert.nothing")}</p>}
        {losses && <List title={say("convert.lost", { format: losses.from })} of={losses.lost} />}
        {losses && <List title={say("convert.changed")} of={losses.changed} />}
      </section>
      {losses && (
        <a class="btn primary" href={`/api/v1/captures/${id}/convert?to=${encodeURIComponent(to)}`} download>
          <Icon name="download" /> {say("convert.do", { format: losses.to })}
        </a>
      )}
    </dialog>
  );
}
