/* What the command says, for a reader who does not sit at the collector: without the paths of its machine. */
import { say } from "./language";

/** A sentence, and the page of what it is about. */
export interface Told {
  text: string;
  to?: string;
}

const NOTES = /^(.*?)(?:#([\w-]+))?: (\d+ damage and .*?); `traceloom check .*?` lists them$/;
/** An absolute path at the start of a sentence, of Unix or of Windows. */
const PATH = /^((?:\/|[A-Za-z]:\\).*?)(?:#([\w-]+))?: /;

/** Turns a message of the command into a sentence for a page. */
export function told(message: string): Told {
  const notes = NOTES.exec(message);
  if (notes) {
    const [, , id, found = ""] = notes;
    const to = id ? `/captures/${encodeURIComponent(id)}` : "/captures?doubtful=1";
    return { text: id ? `${say("capture.of", { capture: id })}: ${found}` : found, to };
  }
  const path = PATH.exec(message);
  if (!path) return { text: message };
  const [start, folder = "", id] = path;
  const rest = message.slice(start.length).replaceAll(`${folder}#`, "").replaceAll(folder, say("told.folder"));
  return { text: id ? `${say("capture.of", { capture: id })}: ${rest}` : rest };
}

/** What the head of a page of the command says, and apart from it the notes of what it is drawn from. */
export function apart(about: string): { about: string; messages: string[] } {
  const parts = about.split(" · ");
  const isNotes = (part: string) => part.endsWith("lists them");
  // The app says it above the page, with the way to read on.
  const isPartial = (part: string) => /^made from .* captures$/.test(part);
  return {
    about: parts.filter((part) => !isNotes(part) && !isPartial(part)).join(" · "),
    messages: parts.filter(isNotes).flatMap((part) => part.split(/(?<=lists them); /)),
  };
}

/** Why the command drew nothing, if there was nothing to draw; no word of it where nothing has arrived, or nothing of what was chosen. */
export function withoutDrawing(text: string): string | undefined {
  if (text === "nothing here to show") return "";
  const end = /(?:^|; )- is not written: there is nothing to draw$/.exec(text);
  return end ? text.slice(0, end.index) : undefined;
}
