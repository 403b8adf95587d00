/** Milliseconds in which changes are one step for Back. */
const COALESCED = 500;

/** What the address remembers of a part; parts of a longer page have ids, which begin their keys. */
export class Address {
  /** When a step for Back was made last. */
  private pushed = Number.NEGATIVE_INFINITY;

  constructor(private readonly id: string) {}

  private key(name: string): string {
    return this.id ? `${this.id}.${name}` : name;
  }

  get(name: string): string | null {
    return new URLSearchParams(location.hash.slice(1)).get(this.key(name));
  }

  /** Sets values; none and an empty text leave the address. What was before is kept for Back, unless it is `typed`. */
  set(values: Record<string, string | number | null>, typed = false): void {
    const now = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === "") now.delete(this.key(name));
      else now.set(this.key(name), String(value));
    }
    const hash = now.size ? `#${now}` : "";
    if (location.hash === hash || (!location.hash && !now.size)) return;
    const isNew = !typed && performance.now() - this.pushed > COALESCED;
    try {
      if (isNew) history.pushState(null, "", hash || "#");
      else history.replaceState(null, "", hash || "#");
      if (isNew) this.pushed = performance.now();
    } catch {
      // A page whose history is closed.
    }
  }
}
