// From an empty collector to what is slow: Now, and the first walk through the app.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { accessible, answered, browse, decoded, file, json, nanoseconds, same, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const near = (text, value) => assert.ok(Math.abs(nanoseconds(text) / value - 1) < 0.006, `${text} for ${value}`);
const cells = (page, rows) => page.$$eval(rows, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
const figure = (page, name) => page.locator('.figs.far > div', { hasText: name }).locator('b').textContent();

/** Runs what a page says in a shell, as a reader does. */
function shell(command) {
  const PATH = `${dirname(process.env.TRACELOOM_BINARY)}:${process.env.PATH}`;
  const run = spawnSync('sh', ['-c', command], { cwd: process.env.TRACELOOM_FOLDER, env: { ...process.env, PATH }, encoding: 'utf8' });
  assert.equal(run.status, 0, `${command}: ${run.stderr}`);
}

await serve(async ({ cdt, origin, data }) => {
  await browse(async (page) => {
    // Nothing has arrived: one screen says how to send, and its commands work.
    await page.goto(`${origin}/`);
    await page.getByText('Nothing has arrived.').waitFor();
    await page.locator('.cmd code', { hasText: 'send FILE' }).waitFor();
    await accessible(page, 'Now, empty');
    const commands = await page.locator('.cmd code').allTextContents();
    const [sample] = commands;
    shell(sample);
    assert.equal(json('captures', 'ls', data, '--json').length, 1);
    const send = commands.find((command) => command.includes('cdt://') && command.includes('send'));
    shell(send.replace('FILE', `${shop} --service shop`));
    shell(commands.find((command) => command.includes('push FILE')).replace('FILE', shop));
    // Services of two namespaces beside those of none.
    for (const [namespace, service] of [['eu', 'stock'], ['eu', 'basket'], ['asia', 'stock']]) {
      traceloom('send', shop, '--to', cdt, '--namespace', namespace, '--service', service);
    }
    const captures = json('captures', 'ls', data, '--json');
    assert.equal(captures.length, 6);
    // The page that was empty is another one by now, which takes files as well.
    await page.getByText('Where the time goes').waitFor();
    const folded = { name: 'cpu.folded', mimeType: 'text/plain', buffer: Buffer.from('main;run 7\n') };
    await page.locator('input[type=file]').first().setInputFiles(folded);
    await page.getByText('cpu.folded is kept').waitFor();

    // Now: its numbers are those of the commands.
    await page.goto(`${origin}/`);
    const [overview] = json('calls', data, '--overview', '--json');
    await page.getByText('Where the time goes').waitFor();
    await answered(page);
    assert.equal(await figure(page, 'calls'), String(overview.calls));
    near(await figure(page, 'median'), overview.durations.p50);
    near(await figure(page, '95th percentile'), overview.durations.p95);
    near(await figure(page, 'longest'), overview.durations.max);
    assert.equal(await figure(page, 'failed'), String(overview.errors));
    const hotspots = json('top', '--hotspots', data, '--json').find(({ unit }) => unit === 'ns');
    await page.getByRole('heading', { level: 1, name: hotspots.finding }).waitFor();
    const groups = json('calls', data, '--json', '--by=title-shape', '-n=12');
    const entries = page.locator('.blk', { hasText: 'Where the time goes' }).locator('tbody tr');
    await entries.first().waitFor();
    const shown = await entries.evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
    assert.equal(shown.length, groups.length);
    for (const [at, group] of groups.entries()) {
      const [name, calls, total, , median, longest] = shown[at];
      assert.equal(name, group.group);
      assert.equal(calls, String(group.calls));
      near(total, group.total_ns);
      near(median, group.durations.p50);
      near(longest, group.durations.max);
    }
    // The service with the calls that it sent.
    const id = captures.find(({ service }) => service === 'shop').id;
    const [ofShop] = json('calls', `${data}#${id}`, '--overview', '--json');
    const row = page.getByRole('row', { name: /^shop/ });
    await row.getByRole('img').waitFor();
    const service = await row.locator('td').allTextContents();
    assert.equal(service[2], String(ofShop.calls));
    near(service[5], ofShop.durations.max);
    assert.equal(service[6], String(ofShop.errors));
    // What arrived, and what is kept.
    const received = await (await page.request.get(`${origin}/api/v1/listeners`)).json();
    const listeners = await cells(page, '.blk:has(h2:text("Arriving")) tbody tr');
    assert.deepEqual(listeners.map(([name, , , refused, lost]) => [name, refused, lost]), received.rows.map(({ name, refused, lost }) => [name, String(refused), String(lost)]));
    await page.getByRole('link', { name: '7 captures' }).waitFor();

    // Services stand below their namespaces, as captures name both.
    const byNamespace = new Map();
    for (const { namespace, service } of json('captures', 'ls', data, '--json')) {
      byNamespace.set(namespace, new Set([...(byNamespace.get(namespace) ?? []), service]));
    }
    const expected = [...byNamespace].sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([namespace, services]) => [namespace || 'no namespace', ...[...services].sort().map((service) => service || 'no name')]);
    const groupRows = await page.$$eval('.blk:has(h2:text("Services")) tbody', (groups) => groups.map((group) => [...group.rows].map((row) => row.cells[0].textContent.trim())));
    assert.deepEqual(groupRows, expected);
    assert.deepEqual(expected.map(([namespace]) => namespace), ['no namespace', 'asia', 'default', 'eu']);
    // Those of one name have calls of their own each, and lead to these.
    for (const namespace of ['asia', 'eu']) {
      const own = page.locator('tbody', { has: page.getByRole('rowheader', { name: namespace, exact: true }) }).getByRole('row', { name: /^stock/ });
      await own.getByRole('img').waitFor();
      assert.equal((await own.locator('td').allTextContents())[2], String(ofShop.calls));
      assert.equal(await own.getByRole('link').getAttribute('href'), `/calls?svc=${namespace}%2Fstock`);
    }

    // What the store takes on the disk, how much it may take and how long it is kept.
    const sealed = await decoded(data, 7);
    await page.reload();
    await answered(page);
    const store = page.locator('.blk', { has: page.getByRole('heading', { name: /^Store/ }) });
    const stored = sealed.flatMap(({ parts }) => parts).reduce((sum, { stored_bytes: bytes }) => sum + bytes, 0);
    const [, size, limit] = /^(.+) in 7 captures\s*limit (.+), oldest go first$/.exec((await store.locator('p').textContent()).trim());
    same(size, stored, 'bytes on the disk');
    same(limit, 64 * 2 ** 20, 'bytes that there may be');
    const disk = store.getByRole('progressbar', { name: 'Disk' });
    assert.deepEqual(await disk.evaluate(({ value, max }) => [value, max]), [stored, 64 * 2 ** 20]);
    assert.equal(await store.getByRole('heading').textContent(), 'Store kept 9 days');
    const { settings } = await (await page.request.get(`${origin}/api/v1/settings`)).json();
    assert.deepEqual([settings['keep-days'], settings['keep-mib']], [9, 64]);
    await accessible(page, 'Now');
    // An entry point leads to its calls, and to no others.
    for (const { group, calls } of groups) {
      await entries.getByRole('link', { name: group, exact: true }).click();
      await page.getByText(new RegExp(`^${calls} calls?, `)).waitFor();
      await page.goBack();
      await entries.first().waitFor();
    }

    // From here to the slow statement: the first walk, in presses.
    await page.getByRole('link', { name: 'shop', exact: true }).click();
    await page.getByRole('button', { name: 'duration' }).click();
    await page.locator('th[aria-sort="descending"] >> text=duration').waitFor();
    await answered(page);
    const [slowest] = json('calls', `${data}#${id}`, '--json', '--sort=-duration');
    await page.locator('tr[data-row="0"]').click();
    const pane = page.getByRole('complementary', { name: 'The call' });
    await pane.getByText('where its own time went').waitFor();
    const own = new Map();
    for (const span of json('call', '--json', `${data}#${id}`, slowest.capture.call)[0].spans) {
      own.set(span.function, (own.get(span.function) ?? 0) + span.self_ns);
    }
    near(await pane.locator('table').first().locator('tr').first().locator('.cb > span').textContent(), Math.max(...own.values()));

    // The drawing of its capture: the same first function as `top`.
    await pane.getByRole('link', { name: 'Flame graph' }).click();
    const [top] = json('top', `${data}#${id}`, '--json');
    const method = top.functions[0].function.split('.').at(-1);
    await page.waitForURL(`${origin}/profiles?capture=${id}`);
    await page.locator('.flame tbody tr').first().getByText(method).waitFor({ state: 'attached' });
    // An address of the time before these pages leads to them.
    await page.goto(`${origin}/draw?view=timeline&capture=${id}`);
    await page.waitForURL(`${origin}/timeline?capture=${id}`);
    await page.locator('.timeline').waitFor();
  }, { origin, viewport: { width: 1440, height: 1000 } });

  await browse(async (page) => {
    await page.goto(`${origin}/`);
    await page.getByText('Where the time goes').waitFor();
    await answered(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    await accessible(page, 'Now on a phone');
  }, { origin, viewport: { width: 390, height: 844 }, hasTouch: true });
}, '--keep-days', '9', '--keep-mib', '64');
