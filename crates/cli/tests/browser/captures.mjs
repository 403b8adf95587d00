// Captures: what is there, notes by offset, bytes and records, conversion with its losses, files that are dropped.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { accessible, addressOf, answered, browse, decoded, file, json, pushed, serve, traceloom } from './browser.mjs';

const [shop, vector] = process.argv.slice(2);
const cells = (page, rows) => page.$$eval(rows, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
const grouped = (number) => number.toLocaleString('en-US');
const saved = async (page, locator) => {
  const [download] = await Promise.all([page.waitForEvent('download'), locator.click()]);
  return download.path();
};

await serve(async ({ cdt, origin, data }) => {
  traceloom('send', shop, '--to', cdt, '--service', 'shop');
  // The end of a trace is missing.
  const whole = readFileSync(vector);
  const bytes = whole.subarray(0, Math.floor((whole.length * 2) / 3));
  const damaged = file('damaged.trcbin');
  writeFileSync(damaged, bytes);
  pushed(damaged, origin);

  await browse(async (page) => {
    await page.goto(`${origin}/captures`);
    const all = json('captures', 'ls', data, '--json').reverse();
    await page.getByText(`${all.length} captures`).waitFor();
    const rows = await cells(page, 'main tbody tr');
    assert.deepEqual(rows.map(([name]) => name.split(' ').at(-1)), all.map(({ id }) => id));
    assert.deepEqual(rows.map(([, , protocol]) => protocol), all.map(({ protocol }) => protocol));
    await accessible(page, 'Captures');

    // What is doubtful is what the collector saw and what `check` says, once a capture is decoded.
    const level = (id, ...levels) => {
      const { stdout } = spawnSync(process.env.TRACELOOM_BINARY, ['check', `${data}#${id}`, '--json'], { encoding: 'utf8' });
      const notes = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
      return notes.filter((note) => levels.includes(note.level)).length;
    };
    const read = (await decoded(data, all.length)).reverse();
    await page.reload();
    await page.locator('main tbody tr').first().waitFor();
    const doubts = read.map(({ id, doubts }) => doubts.length + level(id, 'warn', 'damage'));
    assert.ok(doubts.some((count) => count > 0), 'a damaged capture is doubtful');
    const shown = (await cells(page, 'main tbody tr')).map((row) => Number.parseInt(row.at(-1), 10) || 0);
    assert.deepEqual(shown, doubts);
    const chip = page.getByRole('button', { name: /^Doubtful/ });
    assert.equal(await chip.textContent(), `Doubtful ${doubts.filter((count) => count > 0).length}`);
    await page.goto(`${origin}/`);
    const damagedId = read.find(({ id }) => level(id, 'warn', 'damage')).id;
    const told = page.locator('section', { hasText: 'of the last captures' }).locator('li', { has: page.locator(`a[href="/captures/${damagedId}"]`) });
    await told.waitFor();
    await page.goto(`${origin}/captures`);
    await page.getByText(`${all.length} captures`).waitFor();

    // Rows by keys, and Escape closes the pane.
    const focused = () => page.evaluate(() => document.activeElement.rowIndex);
    for (const [key, at] of [['j', 1], ['j', 2], ['k', 1], ['j', 2]]) {
      await page.keyboard.press(key);
      assert.equal(await focused(), at, key);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'The capture' }).waitFor();
    assert.equal((await addressOf(page)).pathname, `/captures/${all[1].id}`);
    await answered(page);
    await page.keyboard.press('Escape');
    await page.getByRole('complementary', { name: 'The capture' }).waitFor({ state: 'detached' });

    // What is found, by words and by protocol, is in the address.
    await page.getByPlaceholder('name, service, instance').fill('damaged');
    await page.getByText('1 capture', { exact: true }).waitFor();
    await page.getByPlaceholder('name, service, instance').fill('');
    await page.getByRole('combobox', { name: 'Protocol' }).selectOption('cdt');
    await page.getByText('1 capture', { exact: true }).waitFor();
    await page.goBack();
    await page.getByText(`${all.length} captures`).waitFor();

    // Parts and records are those of `info`.
    const shopId = all.find(({ protocol }) => protocol === 'cdt').id;
    await page.locator('main tbody tr', { hasText: shopId }).click();
    const pane = page.getByRole('complementary', { name: 'The capture' });
    const parts = pane.locator('section:nth-of-type(2) tbody tr');
    const [info] = json('info', `${data}#${shopId}`, '--json');
    await pane.getByText('calls/000001', { exact: true }).waitFor();
    assert.equal(await parts.count(), info.inputs.length);
    for (const [at, part] of info.inputs.entries()) {
      const [name, records] = await parts.nth(at).locator('td').allTextContents();
      assert.ok(part.path.endsWith(name), name);
      assert.equal(records, Object.entries(part.records).map(([kind, count]) => `${grouped(count)} ${kind}`).join(', '));
    }
    await accessible(page, 'A capture');
    assert.ok(readFileSync(await saved(page, pane.getByRole('link', { name: 'Original' }))).subarray(0, 2).equals(Buffer.from('PK')));

    // Notes by offset are those of `check`, and lead to the bytes there.
    const id = all.find(({ protocol }) => protocol === 'upload').id;
    await page.goto(`${origin}/captures/${id}`);
    const run = spawnSync(process.env.TRACELOOM_BINARY, ['check', `${data}#${id}`, '--json'], { encoding: 'utf8' });
    const notes = run.stdout.trim().split('\n').map((line) => JSON.parse(line));
    notes.sort((one, other) => one.offset - other.offset);
    const [note] = notes;
    const row = pane.locator('section', { hasText: 'by offset' }).locator('tbody tr');
    await row.first().waitFor();
    assert.equal(await row.count(), notes.length);
    const said = await row.first().textContent();
    assert.equal(said, `0x${note.offset.toString(16)}${note.level}${note.kind}${note.count > 1 ? ` × ${note.count}` : ''} ${note.text}`);
    await row.first().click();
    await page.waitForURL(new RegExp(`at=0x${note.offset.toString(16)}`));
    const hex = pane.locator('pre.hex');
    await hex.waitFor();
    // Before the notes are known these are the first bytes.
    await answered(page);
    const from = Math.max(Math.floor(note.offset / 16) - 5, 0) * 16;
    const digits = (await hex.locator('div').allTextContents()).map((line) => line.slice(7, 56).replaceAll(' ', '')).join('');
    assert.equal(digits, bytes.subarray(from, from + 224).toString('hex'));
    if (note.level !== 'info') assert.equal(await hex.locator('mark').first().textContent(), `${bytes.subarray(note.offset, note.offset + 1).toString('hex')} `);
    await accessible(page, 'Notes and bytes');

    // Messages about these notes lead to them, without the collector's folders.
    await page.goto(`${origin}/calls?capture=${id}`);
    await page.getByRole('link', { name: 'The notes' }).waitFor();
    await answered(page);
    assert.ok(!(await page.locator('body').innerText()).includes(data), 'no path of the collector is shown');
    await page.getByRole('link', { name: 'The notes' }).click();
    await page.waitForURL((url) => url.pathname === `/captures/${id}`);

    // A timeline of captures that lie years apart begins with the last of them.
    await page.goto(`${origin}/timeline`);
    await page.getByText('1 capture lies outside').waitFor();
    await page.locator('.fetched[aria-busy=false]').waitFor();
    const stretch = await page.locator('.field .cnt').first().textContent();
    assert.match(stretch, /^\d+(\.\d+)? s · /);
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.locator('.field .cnt', { hasText: / h / }).first().waitFor();

    // The same place as records.
    await page.goto(`${origin}/captures/${id}?at=0x0`);
    await pane.getByRole('button', { name: 'as records' }).click();
    const records = json('dump', '--json', '--resolve', '-n=40', '--start=0', `${data}#${id}`);
    const place = pane.getByRole('region', { name: 'Bytes' }).locator('tbody tr');
    await place.first().waitFor();
    assert.deepEqual(await place.locator('td:nth-child(2)').allTextContents(), records.map(({ kind }) => kind));
    assert.deepEqual(await place.locator('td:first-child').allTextContents(), records.map(({ offset }) => `0x${offset.toString(16)}`));

    // Before it is converted, what is lost is said as the command says it.
    await page.goto(`${origin}/captures/${shopId}`);
    await pane.getByRole('button', { name: 'Convert' }).click();
    const dialog = page.getByRole('dialog', { name: 'Convert' });
    await dialog.getByRole('combobox', { name: 'To' }).selectOption('chrome');
    const button = dialog.getByRole('link', { name: 'Convert to chrome' });
    await button.waitFor();
    const [losses] = json('convert', '--json', '--to=chrome', '--force', '-o', file('losses'), `${data}#${shopId}`);
    const listed = await cells(page, 'dialog tbody tr');
    const expected = [...losses.lost, ...losses.changed].map(({ count, kind, field, example }) => [grouped(count), kind.replaceAll('_', ' '), field || example]);
    assert.deepEqual(listed, expected);
    await accessible(page, 'Losses');
    const converted = readFileSync(await saved(page, button), 'utf8');
    traceloom('convert', '--to=chrome', '-o', file('chrome.json'), `${data}#${shopId}`);
    assert.equal(converted, readFileSync(file('chrome.json'), 'utf8'));
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });

    // A file that is dropped anywhere on the page is there.
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['main;run 7\n'], 'dropped.folded'));
      for (const type of ['dragover', 'drop']) document.querySelector('table').dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    });
    await page.getByText('dropped.folded is kept').waitFor();
    await page.locator('main tbody tr', { hasText: 'dropped.folded' }).waitFor();
    assert.equal(json('captures', 'ls', data, '--json').length, all.length + 1);

    // What is not there any more says so.
    await page.goto(`${origin}/captures/99-99`);
    await page.getByText('There is no capture 99-99').waitFor();
  }, { origin, acceptDownloads: true, viewport: { width: 1440, height: 1200 } });
});
