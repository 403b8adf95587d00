/* The pages of a list of calls: those around what is seen are held, the others only counted. */
import { useEffect, useState } from "preact/hooks";
import { type Call, type CallPage, type PartialRead, Problem, read } from "./api";
import { say } from "./language";
import { usePartial } from "./partial";

/** Calls of a page. */
const ROWS = 500;
/** Pages whose rows are held. */
const HELD = 20;

interface OnePage {
  /** The place behind which it begins. */
  after: string | null;
  count: number;
  rows: Call[] | undefined;
  /** When it was seen last. */
  seen: number;
}

/** A list that is read as far as it is looked at. */
export class CallPages {
  readonly pages: OnePage[] = [];
  /** The place behind the last page; null where nothing follows. */
  next: string | null = null;
  selected: number | undefined;
  isWhole = true;
  units: Record<string, string> = {};
  messages: string[] = [];
  /** What the last page was made from, if not all. */
  partial: PartialRead | undefined;
  problem: Problem | undefined;
  isReading = false;
  /** It was stopped before it had what was asked. */
  isStopped = false;
  private control = new AbortController();
  private looks = 0;

  constructor(
    private readonly question: string,
    private readonly changed: () => void,
  ) {}

  /** Calls that are there so far. */
  get count(): number {
    return this.pages.reduce((sum, page) => sum + page.count, 0);
  }

  /** Returns the call of a row, if its page is held. */
  row(number: number): Call | undefined {
    let left = number;
    for (const page of this.pages) {
      if (left < page.count) return page.rows?.[left];
      left -= page.count;
    }
    return undefined;
  }

  /** All rows that are held. */
  held(): Call[] {
    return this.pages.flatMap((page) => page.rows ?? []);
  }

  /** Reads the first page. */
  begin(): void {
    void this.load(0, null);
  }

  /** Stops what is being read. */
  stop(): void {
    this.isStopped = true;
    this.control.abort();
  }

  /** Goes on where it was stopped. */
  resume(): void {
    this.isStopped = false;
    this.control = new AbortController();
    void this.load(this.pages.length, this.next);
  }

  /** Reads what is missing of the rows that are seen, and goes on where they come near the end. */
  look(first: number, last: number): void {
    this.looks += 1;
    let from = 0;
    for (const [number, page] of this.pages.entries()) {
      const isSeen = from <= last && from + page.count > first;
      if (isSeen) page.seen = this.looks;
      if (isSeen && !page.rows) void this.load(number, page.after);
      from += page.count;
    }
    if (this.next !== null && last >= from - ROWS / 2) void this.load(this.pages.length, this.next);
  }

  private async load(number: number, after: string | null): Promise<void> {
    const { signal } = this.control;
    if (this.isReading || signal.aborted || (this.problem && number > 0)) return;
    this.isReading = true;
    this.changed();
    try {
      const behind = after === null ? "" : `&after=${encodeURIComponent(after)}`;
      const page = await read<CallPage>(`calls?${this.question}&n=${ROWS}${behind}`, signal);
      this.pages[number] = { after, count: page.rows.length, rows: page.rows, seen: this.looks };
      if (number === this.pages.length - 1) this.next = page.rows.length ? page.next : null;
      this.partial = page.partial;
      if (number === 0) {
        this.selected = page.counts.selected;
        this.isWhole = page.counts.is_whole ?? true;
        this.units = page.counts.units ?? {};
        this.messages = page.messages;
      }
      this.forget();
    } catch (error) {
      if (!signal.aborted) this.problem = error instanceof Problem ? error : new Problem(say("silent"), null);
    }
    this.isReading = false;
    this.changed();
  }

  /** Lets the rows go that were seen longest ago. */
  private forget(): void {
    const held = this.pages.filter((page) => page.rows);
    held.sort((a, b) => a.seen - b.seen);
    for (const page of held.slice(0, Math.max(held.length - HELD, 0))) page.rows = undefined;
  }
}

/** The pages of a question; the last list stays until the first page of the next is there. */
export function useCallPages(question: string): {
  list: CallPages | undefined;
  asked: CallPages | undefined;
  isAsking: boolean;
} {
  const [, setRound] = useState(0);
  const [list, setList] = useState<CallPages>();
  const [asked, setAsked] = useState<CallPages>();
  useEffect(() => {
    let isWanted = true;
    const pages = new CallPages(question, () => {
      if (!isWanted) return;
      if (pages.pages.length) setList(pages);
      setRound((round) => round + 1);
    });
    setAsked(pages);
    pages.begin();
    return () => {
      isWanted = false;
      pages.stop();
    };
  }, [question]);
  usePartial(list?.partial);
  return { list, asked, isAsking: Boolean(asked?.isReading) };
}
