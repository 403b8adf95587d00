// Calls: the list, the picture above it, the filter, what arrives, and what is saved, beside what the commands print.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { accessible, addressOf, answered, browse, file, inTime, json, nanoseconds, painted, pushed, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const rows = (page) => page.$$eval('tr[data-row]', (rows) => rows.map((row) => ({ at: Number(row.dataset.row), cells: [...row.cells].map((cell) => cell.textContent) })));
/** A page asks a frame after it is drawn: that it is not busy says nothing before. */
const settled = async (page) => {
  await answered(page);
  await page.locator('table[aria-busy=false]').waitFor();
};
const heads = (page) => page.$$eval('th', (heads) => heads.map((head) => head.textContent));
const found = (page, text) => page.locator('.field .cnt', { hasText: new RegExp(`^${text}`) }).waitFor();
const near = (text, value) => assert.ok(Math.abs(nanoseconds(text) / value - 1) < 0.005, `${text} for ${value}`);
const saved = async (page, name) => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()]);
  return readFileSync(await download.path(), 'utf8');
};

/** A Chrome trace of many calls: more than are drawn or held one by one. */
function many(calls) {
  const events = Array.from({ length: calls }, (_, at) => ({ ph: 'X', pid: 1, tid: at % 4, ts: at * 5000, dur: 1 + (at * 7919) % 4000, name: `work${at % 9}` }));
  return JSON.stringify(events);
}

/** Two calls whose starts a double cannot hold. */
function nanosecond() {
  const span = (spanId, name, start, end) => ({ traceId: `0123456789abcdef0123456789abcde${spanId}`, spanId: `00000000000000a${spanId}`, name, kind: 2, startTimeUnixNano: start, endTimeUnixNano: end });
  const spans = [span('1', 'first', '1790000000123456789', '1790000000123456799'), span('2', 'last', '1790000000999999999', '1790000001999999999')];
  return { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans }] }] };
}

await serve(async ({ cdt, origin, data }) => {
  traceloom('send', shop, '--to', cdt, '--service', 'shop');
  const all = json('calls', data, '--json', '--sort=-duration');
  const overview = json('calls', data, '--overview', '--json')[0];

  await browse(async (page) => {
    // The numbers above the list are those of the overview.
    await page.goto(`${origin}/calls?sort=-duration`);
    await found(page, `${overview.calls} calls`);
    for (const { duration_ns, calls } of overview.longer) {
      const name = duration_ns < 1e9 ? `${duration_ns / 1e6} ms` : `${duration_ns / 1e9} s`;
      await page.getByRole('button', { name: `${name} ${calls}`, exact: true }).waitFor();
    }
    await page.getByRole('button', { name: `Failed ${overview.errors}` }).waitFor();
    await page.getByRole('img', { name: `${overview.calls} calls by time and duration` }).waitFor();

    // Every row is a row of the command, in its order.
    await settled(page);
    const shown = await rows(page);
    assert.equal(shown.length, all.length);
    const at = Object.fromEntries((await heads(page)).map((head, at) => [head, at]));
    for (const [number, { cells }] of shown.entries()) {
      const call = all[number];
      near(cells[at.duration], call.duration);
      if (call.cpu) near(cells[at.cpu], call.cpu);
      else assert.match(cells[at.cpu], /^[0–]$/);
      assert.equal(cells[at.calls], call.calls ? String(call.calls) : call.calls === 0 ? '0' : '–');
      assert.equal(cells[at.thread], call.thread ?? '–');
      if (call.title) assert.equal(cells[at.what].replace(/^\s*(failed|running)\s+/, ''), call.title);
      assert.equal(/^\s*failed /.test(cells[at.what]), call.error);
    }
    await accessible(page, 'Calls');

    // Rows by keys.
    for (const [key, at] of [['j', '0'], ['j', '1'], ['ArrowDown', '2'], ['k', '1']]) {
      await page.keyboard.press(key);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.row), at, key);
    }

    // That a call failed is seen beside the pane as well.
    const failed = page.locator('tr[data-row]', { hasText: 'failed' }).first();
    await failed.click();
    await page.getByRole('complementary', { name: 'The call' }).waitFor();
    await answered(page);
    const [sign, cell] = [await failed.locator('.bad').last().boundingBox(), await failed.locator('td').last().boundingBox()];
    assert.ok(sign.x >= cell.x && sign.x + sign.width <= Math.min(cell.x + cell.width, (await page.locator('.work').boundingBox()).width), 'what is cut off is not that it failed');
    await page.keyboard.press('Escape');

    // The clock of a row is exact where it is pointed at: to the nanosecond, in UTC and where the reader is.
    const exact = file('exact.json');
    writeFileSync(exact, JSON.stringify(nanosecond()));
    pushed(exact, origin);
    const of = json('captures', 'ls', data, '--json').at(-1).id;
    await page.goto(`${origin}/calls?capture=${of}`);
    await settled(page);
    const titles = await page.$$eval('tr[data-row]', (rows) => rows.map((row) => row.cells[0].title.split('\n')));
    // Newest first; a number of JSON would have the first of both as 14:13:20.123456768.
    assert.deepEqual(titles, [
      ['2026-09-21T14:13:20.999999999Z', '2026-09-21T19:43:20.999999999+05:30'],
      ['2026-09-21T14:13:20.123456789Z', '2026-09-21T19:43:20.123456789+05:30'],
    ]);
    const printed = traceloom('calls', `${data}#${of}`, '--csv', '-n=0', '--columns=start');
    for (const [utc] of titles) {
      const [, seconds, fraction] = /^(.+)\.(\d{9})Z$/.exec(utc);
      assert.ok(printed.includes(`,${Date.parse(`${seconds}Z`) / 1000}${fraction}`), printed);
    }
    await page.locator('tr[data-row]').first().click();
    await page.getByRole('complementary', { name: 'The call' }).getByRole('link', { name: 'last' }).click();
    await page.getByRole('heading', { level: 1, name: 'last' }).waitFor();
    assert.equal(await page.locator('.callhead p').getAttribute('title'), titles[0].join('\n'));
    traceloom('captures', 'delete', of, '--data', data);
    await page.goto(`${origin}/calls?sort=-duration`);
    await found(page, `${overview.calls} calls`);

    // The chip asks for failed calls in the filter's words, and says so of nothing else.
    const chip = page.getByRole('button', { name: /^Failed/ });
    await chip.click();
    await found(page, `${overview.errors} calls?,`);
    assert.equal((await addressOf(page)).searchParams.get('q'), 'error = true');
    assert.equal(await chip.getAttribute('aria-pressed'), 'true');
    await chip.click();
    await found(page, `${overview.calls} calls`);
    await page.goto(`${origin}/calls?sort=-duration&q=error`);
    await page.getByText('No call matches').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Failed/ }).getAttribute('aria-pressed'), 'false');
    await page.goto(`${origin}/calls?sort=-duration`);
    await found(page, `${overview.calls} calls`);
    await settled(page);

    // A filter: completed by Tab, refused at its column, applied by Enter, taken back by Back.
    const filter = page.getByRole('combobox', { name: 'Filter' });
    await filter.fill('dura');
    await page.getByRole('option', { name: 'duration' }).waitFor();
    await filter.press('Tab');
    assert.equal(await filter.inputValue(), 'duration ');
    // The caret is set with the next picture.
    await painted(page);
    await filter.pressSequentially('> fast');
    await page.getByText('expected a duration').waitFor();
    await page.getByText('column 12').waitFor();
    await page.getByText('The list still shows all').waitFor();
    await accessible(page, 'A filter that cannot be read');
    await filter.press('Enter');
    assert.equal((await addressOf(page)).searchParams.get('q'), null);
    // Keys that come faster than the page draws ask what the field holds, whatever was wrong before.
    await filter.evaluate((field, text) => {
      field.value = text;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
    }, 'duration > 1s and not error');
    const slow = all.filter(({ duration, error }) => duration > 1e9 && !error);
    await found(page, `${slow.length} calls`);
    await settled(page);
    assert.equal((await rows(page)).length, slow.length);
    await page.goBack();
    await found(page, `${overview.calls} calls`);
    // Values of the list are known.
    await filter.fill("thread = ");
    const [{ thread }] = all;
    await page.getByRole('option', { name: thread }).first().waitFor();
    await filter.press('Escape');
    await filter.press('Escape');

    // Nothing matches: what does, and the way back.
    await filter.fill('duration > 5h');
    await filter.press('Enter');
    await page.getByText('No call matches').waitFor();
    await page.getByText(`The longest took`).waitFor();
    await accessible(page, 'No call matches');
    await page.getByRole('link', { name: 'Show all calls' }).click();
    await found(page, `${overview.calls} calls`);
    await settled(page);

    // A rectangle of the picture is a range of time and of duration.
    const box = await page.locator('.scatter canvas').boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL((url) => /duration >= /.test(url.searchParams.get('q') ?? ''));
    const query = (await addressOf(page)).searchParams;
    const [, least, most] = /duration >= (\S+) and duration <= (\S+)/.exec(query.get('q'));
    const inside = json('calls', data, '--json', `--filter=duration >= ${least} and duration <= ${most}`, `--since=${query.get('from')}`, `--until=${query.get('to')}`);
    assert.ok(inside.length > 0 && inside.length < all.length, `${inside.length}`);
    await found(page, `${inside.length} calls?,`);
    await page.goBack();
    await found(page, `${overview.calls} calls`);
    await settled(page);

    // Columns of the capture itself, with their units; the address has them.
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'memory_used' }).check();
    await page.keyboard.press('Escape');
    const column = (await heads(page)).indexOf('memory_used');
    const used = all[0].counters.memory_used;
    const text = (await rows(page))[0].cells[column];
    const [number, unit] = text.split(' ');
    const bytes = Number(number.replaceAll(',', '')) * { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[unit];
    assert.ok(Math.abs(bytes / used - 1) < 0.005, `${text} for ${used}`);
    assert.match((await addressOf(page)).href, /cols=/);

    // What is saved is what the commands print.
    await page.locator('tr[data-row]').first().click();
    await page.getByRole('complementary', { name: 'The call' }).getByText('where its own time went').waitFor();
    await accessible(page, 'Calls with a call');
    await page.getByRole('button', { name: 'Export' }).click();
    assert.equal(await saved(page, 'CSV'), traceloom('calls', data, '--csv', '-n=0', '--sort=-duration'));
    const lines = JSON.parse(await saved(page, 'JSON')).rows;
    assert.deepEqual(lines.map(({ id }) => id), all.map(({ id }) => id));
    assert.ok((await saved(page, 'Original')).startsWith('PK'));
    await page.keyboard.press('Escape');

    // Calls that arrive while somebody looks stand on top.
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    const live = new Map();
    network.on('Network.requestWillBeSent', ({ requestId, request }) => request.url.includes('/api/v1/live') && live.set(requestId, 0));
    network.on('Network.dataReceived', ({ requestId, dataLength }) => live.has(requestId) && live.set(requestId, dataLength));
    await page.goto(`${origin}/calls?live=1`);
    await settled(page);
    await found(page, `${overview.calls} calls`);
    // The collector says something once it has looked at what is there already, which is not sent.
    await inTime(() => assert.ok([...live.values()].some((bytes) => bytes > 0), `nothing came of ${live.size} live lists`));
    await network.detach();
    traceloom('send', shop, '--to', cdt, '--service', 'shop-2');
    await page.getByText(/\d+ calls? arrived/).waitFor();

    // Many calls: only what is seen is there, the picture counts them, and the end of the list is the command's.
    const path = file('many.json');
    writeFileSync(path, many(5000));
    pushed(path, origin);
    const capture = json('captures', 'ls', data, '--json').find(({ protocol }) => protocol === 'upload').id;
    const chosen = `${data}#${capture}`;
    const order = json('calls', chosen, '--json', '--sort=-duration');
    await page.goto(`${origin}/calls?capture=${capture}&sort=-duration`);
    await found(page, '5,000 calls');
    await page.getByText('calls of a cell').waitFor();
    await settled(page);
    const list = page.getByRole('region', { name: 'List of calls' });
    for (let step = 0; step < 40; step++) {
      await list.evaluate((list) => list.scrollTo(0, list.scrollHeight));
      await settled(page);
      if ((await rows(page)).at(-1).at === order.length - 1) break;
    }
    const end = await rows(page);
    assert.equal(end.at(-1).at, order.length - 1);
    assert.ok(end.length < 200, `${end.length} rows are elements`);
    for (const { at: row, cells } of end) near(cells[1], order[row].duration);
    await list.evaluate((list) => list.scrollTo(0, 0));
    await page.locator('tr[data-row="0"]').waitFor();
    await settled(page);
    near((await rows(page))[0].cells[1], order[0].duration);
  }, { origin, asked: [400], acceptDownloads: true, timezoneId: 'Asia/Kolkata', viewport: { width: 1440, height: 2000 } });

  // A phone has cards.
  await browse(async (page) => {
    await page.goto(`${origin}/calls?svc=shop&sort=-duration`);
    await page.locator('.cards li').first().waitFor();
    const cards = await page.$$eval('.cards li', (cards) => cards.map((card) => card.querySelector('.s').textContent));
    assert.equal(cards.length, all.length);
    for (const [at, text] of cards.entries()) near(text, all[at].duration);
    await accessible(page, 'Calls on a phone');
  }, { origin, viewport: { width: 390, height: 844 }, hasTouch: true });
});
