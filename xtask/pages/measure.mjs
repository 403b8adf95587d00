// How pages are measured: the middle of several times, beside what is promised.
export * from '../../crates/cli/tests/browser/browser.mjs';

export const ROUNDS = 7;

/** Prints the middle of the times and fails the run where it is over `most` milliseconds. */
export function promise(what, times, most) {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1];
  const range = `${sorted[0].toFixed(0)} to ${sorted.at(-1).toFixed(0)}`;
  console.log(`${what}: ${middle.toFixed(0)} ms (${range}), promised ${most} ms`);
  if (middle > most) process.exitCode = 1;
}

/** Prints the middle of the times. */
export function tell(what, times) {
  const sorted = [...times].sort((a, b) => a - b);
  console.log(`${what}: ${sorted[sorted.length >> 1].toFixed(0)} ms`);
}
