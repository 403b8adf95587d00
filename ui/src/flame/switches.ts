/* Buttons and lists around a flame graph: what they do, and what of it they say is chosen. */
import { by } from "../shared/dom";
import { recordingOf } from "./data";
import type { FlameGraph } from "./graph";
import { type Colours, VIEWS } from "./model";

const COLOURS: Record<Colours, string> = {
  change: "changes",
  category: "kinds",
  package: "packages",
};

export class Switches {
  private readonly colours: HTMLSelectElement;
  private readonly threads: HTMLSelectElement;

  constructor(private readonly graph: FlameGraph) {
    const { part, search } = graph;
    this.colours = by<HTMLSelectElement>(part, "colours");
    this.threads = by<HTMLSelectElement>(part, "threads");
    search.addEventListener("input", () => graph.find(search.value.trim()));
    this.press("previous", () => graph.step(false));
    this.press("next", () => graph.step(true));
    this.press("reset", () => graph.zoom(-1));
    this.press("inverted", () => graph.change({ inverted: !graph.seen.inverted }));
    this.press("turned", () => graph.change({ upwards: !graph.seen.upwards }));
    this.press("merged", () => graph.change({ merged: !graph.seen.merged }));
    this.press("of-self", () => graph.change({ ofTotal: false }));
    this.press("of-total", () => graph.change({ ofTotal: true }));
    for (const name of ["before", "after"]) this.press(`of-${name}`, () => graph.turnRecording(name));
    for (const name of VIEWS) this.press(`view-${name}`, () => graph.show(name));
    this.colours.onchange = () => graph.change({ colours: this.colours.value as Colours });
    this.threads.onchange = () => graph.change({ thread: Number(this.threads.value) });
    this.listValues();
  }

  private press(name: string, run: () => void): void {
    by(this.graph.part, name).onclick = run;
  }

  private listValues(): void {
    const { part, values } = this.graph;
    const choice = by<HTMLSelectElement>(part, "values");
    const dimension = by<HTMLSelectElement>(part, "dimension");
    const names = [...new Set(values.map((held) => held.value))];
    choice.append(...names.map((name) => new Option(name, name)));
    (choice.closest("label") as HTMLElement).hidden = names.length < 2;
    choice.onchange = dimension.onchange = () => this.graph.turn(choice.value, dimension.value);
  }

  listColours(): void {
    const { choices } = this.graph.model;
    this.colours.replaceChildren(...choices.map((value) => new Option(COLOURS[value], value)));
  }

  /** Threads with what they came to, the busiest first. */
  listThreads(): void {
    const { threads } = this;
    const { data, model, seen } = this.graph;
    const { course } = data;
    const label = threads.closest("label") as HTMLElement;
    label.hidden = !course || course.threads.length < 2;
    if (!course) return;
    const sums = course.threads.map((name, thread) => {
      let sum = 0;
      course.each(thread, (_, _node, own) => (sum += own));
      return { name, thread, sum };
    });
    sums.sort((a, b) => b.sum - a.sum);
    const text = (name: string, sum: number) => `${name || "(no thread)"} · ${model.amount(sum)}`;
    threads.replaceChildren(
      new Option(`all ${course.threads.length}`, "-1"),
      ...sums.map(({ name, thread, sum }) => new Option(text(name, sum), String(thread))),
    );
    threads.value = String(seen.thread);
  }

  /** Says what is chosen, and hides what there is no choice of. */
  update(): void {
    const { part, seen, data, model, values, isWhole } = this.graph;
    const press = (name: string, on: boolean) => by(part, name).setAttribute("aria-pressed", String(on));
    for (const name of VIEWS) press(`view-${name}`, seen.shown === name);
    press("inverted", seen.inverted);
    press("merged", seen.merged);
    press("turned", seen.upwards);
    press("of-self", !seen.ofTotal);
    press("of-total", seen.ofTotal);
    by(part, "sides").hidden = !data.changes;
    const ofValue = values.filter((held) => held.value === data.held.value);
    by(part, "recordings").hidden = !data.changes || ofValue.length < 2;
    for (const name of ["before", "after"]) press(`of-${name}`, recordingOf(data.held) === name);
    by(part, "merged").hidden = !model.grouping;
    const words = model.cutWords();
    by(part, "cuts").hidden = !words;
    by(part, "cuts").textContent = words;
    // The sentence is of everything: of less, what is left says what its percentages are of.
    const finding = by(part, "finding");
    const isAll = !seen.range && seen.thread < 0;
    finding.textContent = (isWhole && isAll && (data.held.compared?.finding ?? data.held.finding)) || "";
    finding.hidden = !finding.textContent;
    this.colours.value = seen.colours;
  }
}
