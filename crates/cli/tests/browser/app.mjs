// The app of a collector: what its pages show is what the commands print of the same data folder.
import assert from 'node:assert/strict';
import { accessible, browse, json, nanoseconds, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const cells = (page) => page.$$eval('tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
const settled = (page) => page.locator('table[aria-busy=false]').waitFor();

await serve(async ({ cdt, origin, data }) => {
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

    // Calls, the slowest first.
    await page.getByRole('button', { name: 'duration' }).click();
    await page.locator('th[aria-sort="descending"] >> text=duration').waitFor();
    await settled(page);
    const expected = json('calls', data, '--json', '--sort=-duration');

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
    const text = await pane.locator('table').first().locator('tr').first().locator('.cb > span').textContent();
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
});
