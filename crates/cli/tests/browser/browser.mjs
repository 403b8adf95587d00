// What the scripts of this folder share: a page in Chromium that may not touch the network and reports its errors.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';

const { TRACELOOM_NPM, TRACELOOM_BINARY, TRACELOOM_FOLDER, TRACELOOM_CHROMIUM } = process.env;
const require = createRequire(join(TRACELOOM_NPM, 'x.js'));
const { chromium } = require('playwright-core');

/** Milliseconds after which what does not come is missing; where many tests share a machine, a command alone may take half of it. */
const PATIENCE = 90_000;

/** Path of a file in the folder that the test may write to. */
export const file = (name) => join(TRACELOOM_FOLDER, name);

/** Runs the program; returns what it printed. */
export function traceloom(...args) {
  const run = spawnSync(TRACELOOM_BINARY, args, { encoding: 'utf8', maxBuffer: 1 << 30 });
  assert.equal(run.status, 0, `traceloom ${args.join(' ')}: ${run.stderr}`);
  return run.stdout;
}

/** What `--json` of a view printed, a value a line. */
export const json = (...args) => traceloom(...args).trim().split('\n').map((line) => JSON.parse(line));

/** What the program prints while the browser goes on, a JSON value a line; nothing where it refuses. */
export async function told(...args) {
  const run = promisify(execFile)(TRACELOOM_BINARY, args, { encoding: 'utf8', maxBuffer: 1 << 30 });
  const { stdout } = await run.catch(() => ({ stdout: '' }));
  return stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

/** Waits for what comes by itself: checks until it is so, and fails as the last check did. */
export async function inTime(check, patience = PATIENCE) {
  for (const until = Date.now() + patience; ;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > until) throw error;
      await after(patience / 1000);
    }
  }
}

/** Waits until so many captures are there and sealed, and decoding each showed what it holds; returns them. The collector does that beside all else. */
export const decoded = (data, count) => inTime(() => {
  const captures = json('captures', 'ls', data, '--json');
  assert.deepEqual(captures.map(({ id, facts }) => (facts?.notes ? 'decoded' : id)), Array(count).fill('decoded'));
  return captures;
}, 4 * PATIENCE);

/** Starts a collector over a new data folder, works with it, and stops it. */
export async function serve(work, ...flags) {
  const data = file('data');
  const off = ['--heph', '--heph-udp', '--tptp', '--otlp-grpc'].filter((listener) => !flags.includes(listener)).flatMap((listener) => [listener, 'off']);
  const server = spawn(TRACELOOM_BINARY, ['serve', '--data', data, '--cdt', '127.0.0.1:0', '--http', '127.0.0.1:0', ...off, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const address = async (pattern) => {
      for (;;) {
        const found = pattern.exec((await lines.next()).value);
        if (found) return found[0];
      }
    };
    const cdt = await address(/cdt:\/\/[\d.:]+/);
    const origin = await address(/http:\/\/[\d.:]+/);
    await work({ cdt, origin, data });
  } finally {
    server.kill('SIGTERM');
    await once(server, 'exit');
  }
}

/** Sends a file as it is. */
export const pushed = (path, origin) => traceloom('push', path, '--to', origin);

/** The address of a page as the page has it: `page.url()` may still be the one before. */
export const addressOf = async (page) => new URL(await page.evaluate(() => location.href));

/** Nanoseconds of an amount as pages print it. */
export function nanoseconds(text) {
  const units = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9 };
  const [number, unit] = text.split(' ');
  return Number(number.replaceAll(',', '')) * units[unit];
}

/** What each page has asked and not got. */
const asked = new WeakMap();

/** Waits until a page has its answers: nothing is asked, nothing is busy, and that stays so. */
export async function answered(page) {
  const isBusy = () => page.evaluate(() => new Promise((done) => {
    const look = () => done(!document.querySelector('h1') || Boolean(document.querySelector('[aria-busy=true]')));
    requestAnimationFrame(() => setTimeout(look, 20));
  }));
  const until = Date.now() + PATIENCE;
  for (let still = 0; still < 3;) {
    still = await isBusy() || asked.get(page).size ? 0 : still + 1;
    assert.ok(Date.now() < until, `${page.url()} is busy: ${[...asked.get(page)].map((request) => request.url())}`);
  }
}

/** Waits until a page has drawn what it was told: pictures come with the next frame, and the functions beside a flame graph after it. */
export const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30))));

/** Compares what a page of profiles shows, once it knows the captures and versions of which it chooses the other side. */
export async function compare(page) {
  await answered(page);
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
}

/** Goes to another page of the app as its links do. */
export const visit = (page, address) => page.evaluate((address) => {
  history.pushState(null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
}, address);

/** The browser of a script: it stays for a moment, for whoever opens pages next. */
let running;
let leaving;
async function launched() {
  clearTimeout(leaving);
  running ??= chromium.launch({ executablePath: TRACELOOM_CHROMIUM ?? '/usr/bin/chromium', timeout: PATIENCE, args: ['--no-sandbox', '--disable-gpu'] });
  return running;
}
function leave(browser) {
  leaving = setTimeout(() => {
    running = undefined;
    browser.close();
  }, 250);
}

/** Opens pages, one after another, and fails for any error and any request beside the files themselves or an origin; answers of
 * statuses that are asked for on purpose are no errors. */
export async function browse(work, { origin = 'file://', asked: statuses = [], ...options } = {}) {
  const browser = await launched();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  try {
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const faults = [];
    const open = new Set();
    asked.set(page, open);
    let coming;
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) coming = request;
      // What arrives live is never over.
      if (!request.url().includes('/api/v1/live')) open.add(request);
    });
    // With another document go the questions of the last one, of which nobody tells the end; they stay where the address alone changes.
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame() || !coming) return;
      coming = undefined;
      open.clear();
    });
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => open.delete(request));
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && ![statuses].flat().some((status) => message.text().includes(`status of ${status}`)) && faults.push(message.text()));
    page.on('dialog', (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => request.url().startsWith(origin) || request.url() === 'data:,' || request.url().startsWith('blob:') || faults.push(`request: ${request.url()}`));
    await work(page, (name, hash = '') => page.goto(`file://${file(name)}${hash}`));
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
    leave(browser);
  }
}

/** Fails for serious and critical faults that axe finds. */
export async function accessible(page, what) {
  await page.evaluate(readFileSync(join(TRACELOOM_NPM, 'axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const told = bad.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html).join(' ')}`);
  assert.deepEqual(told, [], what);
}

/** Milliseconds from the start of `work` in the page until the browser has drawn what it changed. */
export const drawn = (page, work, argument) => page.evaluate(async ([source, argument]) => {
  const run = new Function(`return (${source})`)();
  // Between two frames, so that none of the time is a wait for the last one.
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const start = performance.now();
  await run(argument);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}, [work.toString(), argument]);

/** A number as pages print it: of a unit that scales, or plain. */
export function number(text) {
  const scales = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
  const words = text.replaceAll(',', '').split(' ');
  if (!scales[words[1]]) return Number(words[0]);
  let sum = 0;
  for (let at = 0; at < words.length; at += 2) sum += Math.abs(Number(words[at])) * scales[words[at + 1]];
  return text.startsWith('-') ? -sum : sum;
}

/** Fails where a text is not a value, in the digits that pages give. */
export function same(text, value, what = '') {
  const shown = number(text);
  assert.ok(Math.abs(shown - value) <= 0.006 * Math.abs(value), `${what}: ${text} for ${value}`);
}

/** The rows of the table of a flame graph's part, each cell in full. */
export async function flameRows(page) {
  // A part whose value is zero gives way to one of another value, once the values are known.
  await answered(page);
  await page.locator('.fetched[aria-busy=false] .flame .view-table').click();
  return page.$$eval('.flame .rows tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));
}

/** The rows of a comparison: functions with their values before and after. */
export async function comparedRows(page) {
  await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor();
  const rows = await flameRows(page);
  const heads = await page.$$eval('.flame .rows thead th', (heads) => heads.map((head) => head.textContent.replace(/[ ↓↑]+$/, '')));
  const [before, after] = [heads.indexOf('before'), heads.indexOf('after')];
  return rows.map((row) => ({ name: row.at(-1), before: row[before], after: row[after] }));
}

/** Which of its values a flame graph's part shows: their number in `top --json`. */
export async function flameValue(page) {
  const values = page.locator('.fetched[aria-busy=false] .flame .values');
  await values.waitFor({ state: 'attached' });
  return values.evaluate((choice) => Math.max(choice.selectedIndex, 0));
}

/** Fails where the functions of a flame graph's part are not the first of a table of `top --json`, in its order. */
export async function sameFunctions(page, tables, what) {
  const rows = await flameRows(page);
  const { functions } = tables[await flameValue(page)];
  assert.equal(rows.length, Math.min(functions.length, 500), what);
  for (const [at, cells] of rows.entries()) {
    const { function: name, self, total, count } = functions[at];
    assert.deepEqual([cells.at(-1), cells.at(-2)], [name || '(no name)', count.toLocaleString('en-US')], `${what}, row ${at}`);
    same(cells[0], self, `${what}, self of ${name}`);
    same(cells[2], total, `${what}, total of ${name}`);
  }
}
