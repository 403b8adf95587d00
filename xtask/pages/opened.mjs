// Opens pages as a reader does. A browser that Playwright drives keeps what the network brought for its tools, and
// decodes a page of 12 MB a second time for them: here it is driven by its pipe, and asked for nothing but times.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from './measure.mjs';

/** Opens a page several times: milliseconds until its parts of this kind were drawn, and its thread's work until then. */
export async function opened(name, kind, rounds) {
  const profile = mkdtempSync(join(tmpdir(), 'traceloom-pages-'));
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--window-size=1280,800', '--no-first-run', '--remote-debugging-pipe'];
  const browser = spawn(process.env.TRACELOOM_CHROMIUM ?? '/usr/bin/chromium', [...flags, `--user-data-dir=${profile}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map();
  let text = '';
  browser.stdio[4].setEncoding('utf8').on('data', (data) => {
    const answers = (text += data).split('\0');
    text = answers.pop();
    for (const { id, result, error } of answers.map(JSON.parse)) waiting.get(id)?.(result ?? { error });
  });
  let asked = 0;
  const ask = (method, params = {}, sessionId = undefined) => new Promise((done) => {
    waiting.set(++asked, done);
    browser.stdio[3].write(`${JSON.stringify({ id: asked, method, params, sessionId })}\0`);
  });
  try {
    const { targetInfos } = await ask('Target.getTargets');
    const { targetId } = targetInfos.find(({ type }) => type === 'page');
    const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true });
    const evaluate = async (expression) => (await ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, sessionId)).result?.value;
    const spent = async () => (await ask('Performance.getMetrics', {}, sessionId)).metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
    await ask('Performance.enable', { timeDomain: 'threadTicks' }, sessionId);
    const times = { first: [], busy: [] };
    for (let round = 0; round < rounds; round++) {
      await ask('Page.navigate', { url: 'about:blank' }, sessionId);
      const before = await spent();
      await ask('Page.navigate', { url: `file://${file(name)}` }, sessionId);
      const drawn = `new Promise((done) => { const look = () => { const [mark] = performance.getEntriesByName('${kind} drawn'); mark ? done(mark.startTime) : setTimeout(look, 20); }; look(); })`;
      times.first.push(await evaluate(drawn));
      times.busy.push(await spent() - before);
    }
    return times;
  } finally {
    const gone = new Promise((done) => browser.on('exit', done));
    browser.kill();
    await gone;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
