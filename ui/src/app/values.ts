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

/** Values that say most, where the usual one is zero. */
const FIRST = ["cpu-time", "cpu", "wall-time", "wall"];

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

/** The value to show where the usual one is zero; empty where all are. */
export function telling(values: readonly ValueSum[]): string {
  const some = values.filter(({ total }) => total !== 0);
  const first = FIRST.find((name) => some.some((value) => value.name === name));
  return first ?? some[0]?.name ?? "";
}
