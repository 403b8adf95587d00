// The app of a collector: what its pages show is what the commands print of the same data folder.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { accessible, browse, file, json, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const data = file('data');
const off = ['--heph', 'off', '--heph-udp', 'off', '--tptp', 'off', '--otlp-grpc', 'off'];
const serve = spawn(process.env.TRACELOOM_BINARY, ['serve', '--data', data, '--cdt', '127.0.0.1:0', '--http', '127.0.0.1:0', ...off], { stdio: ['ignore', 'pipe', 'inherit'] });
const lines = createInterface({ input: serve.stdout })[Symbol.asyncIterator]();
const address = async (pattern) => pattern.exec((await lines.next()).value)[0];
const cdt = await address(/cdt:\/\/[\d.:]+/);
const origin = await address(/http:\/\/[\d.:]+/);

const cells = (page) => page.$$eval('tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
const settled = (page) => page.locator('table[aria-busy=false]').waitFor();
/** Nanoseconds of an amount as pages print it. */
const UNITS = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9 };
const nanoseconds = (text) => {
  const [number, unit] = text.split(' ');
  return Number(number.replaceAll(',', '')) * UNITS[unit];
};

try {
  await browse(async (page) => {
    // Nothing has arrived: how to send, and a file that is chosen arrives.
    await page.goto(`${origin}/`);
    await page.getByText('Nothing has arrived.').waitFor();
    await page.getByText(`traceloom send FILE --to ${cdt}`).waitFor();
    await accessible(page, 'Now, empty');
    const folded = { name: 'cpu.folded', mimeType: 'text/plain', buffer: Buffer.from('main;run 7\n') };
    await page.locator('input[type=file]').setInputFiles(folded);
    await page.getByText('cpu.folded is kept').waitFor();

    // Now: the service that sent, and the way to its calls.
    traceloom('send', shop, '--to', cdt, '--service', 'shop');
    await page.reload();
    await accessible(page, 'Now');
    await page.getByRole('link', { name: 'shop', exact: true }).click();

    // Calls: slowest first, every row that `calls --json` has.
    await page.getByRole('button', { name: 'duration' }).click();
    await page.locator('th[aria-sort="descending"] >> text=duration').waitFor();
    await settled(page);
    const expected = json('calls', data, '--json', '--sort=-duration');
    const shown = await cells(page);
    assert.equal(shown.length, expected.length);
    for (const [at, call] of expected.entries()) {
      const row = shown[at];
      assert.ok(Math.abs(nanoseconds(row[1]) / call.duration - 1) < 0.005, `${row[1]} for ${call.duration}`);
      assert.equal(row[6], call.thread ?? '–');
      if (call.title) assert.ok(row[7].startsWith(call.title), row[7]);
      assert.equal(row[7].endsWith(' failed'), call.error);
    }
    await accessible(page, 'Calls');

    // A condition by a press, and back.
    await page.getByRole('button', { name: '1s', exact: true }).click();
    await page.waitForFunction((all) => document.querySelectorAll('tbody tr').length < all, expected.length);
    await settled(page);
    assert.equal((await cells(page)).length, expected.filter(({ duration }) => duration >= 1e9).length);
    await page.goBack();
    await page.waitForFunction((all) => document.querySelectorAll('tbody tr').length === all, expected.length);

    // One call: where its own time went is what `call --json` has.
    await page.locator('tbody tr').first().click();
    const pane = page.getByRole('complementary', { name: 'The call' });
    await pane.getByText('where its own time went').waitFor();
    const [{ id, call }] = expected.map((row) => row.capture);
    const own = new Map();
    for (const span of json('call', '--json', `${data}#${id}`, call)[0].spans) {
      own.set(span.function, (own.get(span.function) ?? 0) + span.self_ns);
    }
    const most = Math.max(...own.values());
    const text = await pane.locator('table').first().locator('tr').first().locator('td').first().textContent();
    assert.ok(Math.abs(nanoseconds(text) / most - 1) < 0.005, `${text} for ${most}`);
    await accessible(page, 'Calls with a call');

    // The drawing of its capture: the same first function as `top`.
    await pane.getByRole('link', { name: 'Flame graph' }).click();
    const graph = page.frameLocator('iframe.draw');
    await graph.getByText('doDispatch').first().waitFor({ state: 'attached' });
    const [top] = json('top', `${data}#${id}`, '--json');
    const method = top.functions[0].function.split('.').at(-1);
    await graph.locator('tbody tr').first().getByText(method).waitFor({ state: 'attached' });

    // Captures, and what is in one.
    await page.getByRole('link', { name: 'Captures' }).click();
    await page.locator('tbody tr', { hasText: 'shop' }).first().click();
    await page.getByRole('complementary', { name: 'The capture' }).getByText('calls/000001').waitFor();
    await accessible(page, 'Captures');
  }, { origin });
} finally {
  serve.kill('SIGTERM');
  await once(serve, 'exit');
}
