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

/** Tells the processor time of the page's own thread, in milliseconds: on a busy machine the clock tells more than the page. */
export async function processor(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
  };
}

/** Prints the middle of the times. */
export function tell(what, times) {
  const sorted = [...times].sort((a, b) => a - b);
  console.log(`${what}: ${sorted[sorted.length >> 1].toFixed(0)} ms`);
}
