/* The address: which page, and what of it. */

/** What an address says, in the names of the API. */
export class Address {
  constructor(
    readonly page: string,
    readonly query: URLSearchParams,
  ) {}

  static now(): Address {
    return new Address(location.pathname, new URLSearchParams(location.search));
  }

  /** The value of a name, empty where there is none. */
  of(name: string): string {
    return this.query.get(name) ?? "";
  }

  /** The address with some values changed; empty ones are left out. */
  with(changes: Record<string, string>, page = this.page): string {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value);
      else query.delete(name);
    }
    const text = query.toString();
    return text ? `${page}?${text}` : page;
  }

  /** As `with`, with what parts of the same page remember behind `#`. */
  here(changes: Record<string, string>): string {
    return this.with(changes) + location.hash;
  }

  /** The part of it that the API reads. */
  asked(names: readonly string[], more: Record<string, string> = {}): string {
    const asked = new URLSearchParams();
    for (const name of names) for (const value of this.query.getAll(name)) if (value) asked.append(name, value);
    for (const [name, value] of Object.entries(more)) if (!asked.has(name)) asked.set(name, value);
    return asked.toString();
  }
}

const listeners: (() => void)[] = [];

/** Runs `listener` when the address changes. */
export function onAddress(listener: () => void): void {
  listeners.push(listener);
  addEventListener("popstate", listener);
}

/** Shows the page again as it is. */
export function refresh(): void {
  for (const listener of listeners) listener();
}

/** Goes to an address; typing replaces the last one. */
export function go(address: string, replaces = false): void {
  if (replaces) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  refresh();
}
