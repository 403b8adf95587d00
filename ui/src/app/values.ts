/* Values that profiles have, and what each comes to. */
/** A value of a capture. */
export interface ValueSum {
  name: string;
  unit: string;
  total: number;
}

/** A part of a capture, as `info --json` has it. */
export interface ValuesOfPart {
  values?: { type: string; unit: string; total: number }[];
  inputs?: ValuesOfPart[];
}

/** The values of parts, in the order in which they are recorded, summed up. */
export function sums(parts: readonly ValuesOfPart[]): ValueSum[] {
  const found = new Map<string, ValueSum>();
  for (const part of parts.flatMap((one) => [one, ...(one.inputs ?? [])])) {
    for (const { type, unit, total } of part.values ?? []) {
      const sum = found.get(type);
      if (sum) sum.total += total;
      else found.set(type, { name: type, unit, total });
    }
  }
  return [...found.values()];
}

/** The value that is drawn, where the address should name it: some are zero, and the usual one may be, in whose place another is drawn. */
export function telling(values: readonly ValueSum[], drawn: string): string {
  const isKnown = values.some(({ name, total }) => name === drawn && total !== 0);
  return isKnown && values.some(({ total }) => total === 0) ? drawn : "";
}
