// The page that reads files by itself: what it says of a dropped file is what the program prints.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { accessible, browse, file, json } from './browser.mjs';

const [built, ...samples] = process.argv.slice(2);
copyFileSync(built, file('traceloom.html'));

/** Drops bytes as a file of a name, and waits until the page has read them or says why not. */
async function dropped(page, name, bytes) {
  await page.evaluate(([name, content]) => {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }, [name, bytes.toString('base64')]);
  await page.waitForFunction((name) => document.querySelector('#state').textContent === `${name} is read` || document.querySelector('#error').textContent, name);
}

/** The tables of the page: measure, caption and rows. */
const tables = (page) => page.$$eval('#tables table', (all) => all.map((table) => ({
  measure: table.dataset.measure,
  caption: table.caption.textContent,
  rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
})));

await browse(async (page, open) => {
  await open('traceloom.html');
  let compared = 0;
  for (const path of samples) {
    const name = basename(path);
    await dropped(page, name, readFileSync(path));
    assert.equal(await page.textContent('#error'), '', name);
    const [info] = json('info', '--json', path);
    const counts = Object.entries(info.records).map(([kind, count]) => `${count.toLocaleString('en')} ${kind}`);
    const what = await page.textContent('#what');
    for (const count of counts) assert.ok(what.includes(count), `${name}: ${count} in ${what}`);
    assert.ok(what.includes(`${info.decoded_bytes.toLocaleString('en')} bytes`), `${name}: ${what}`);
    const shown = await tables(page);
    const printed = json('top', '--json', '-n', '200', path);
    assert.deepEqual(shown.map(({ measure }) => measure), printed.map(({ measure }) => measure), name);
    for (const [at, { measure, unit, total, functions }] of printed.entries()) {
      assert.ok(shown[at].caption.startsWith(`${measure}: ${total} ${unit}`), shown[at].caption);
      const rows = functions.map((row) => [row.self, row.total, row.count, row.function].map(String));
      // Functions of equal values have an order of their own where their table comes without a tree.
      const sorted = (rows) => rows.map((row) => row.join(' ')).sort();
      assert.deepEqual(sorted(shown[at].rows), sorted(rows), `${name}: ${measure}`);
      compared += rows.length;
    }
    const frame = await (await page.waitForSelector('#drawing iframe')).contentFrame();
    await frame.waitForFunction(() => document.querySelector('h1')?.textContent);
    assert.ok((await frame.textContent('h1')).includes(name), name);
  }
  assert.ok(compared > 100, `${compared} functions`);
  await accessible(page, 'traceloom.html');

  // Gzip is opened by the browser.
  const [first] = samples;
  const before = basename(first);
  await dropped(page, before, readFileSync(first));
  const plain = await tables(page);
  await dropped(page, `${before}.gz`, gzipSync(readFileSync(first)));
  assert.deepEqual(await tables(page), plain);

  // What is no trace, and what is damaged, is said, and the next file is read.
  await dropped(page, 'notes.txt', Buffer.from('hello, this is no trace'));
  assert.match(await page.textContent('#error'), /^notes\.txt: unknown format/);
  writeFileSync(file('cut.heph'), readFileSync(samples.find((path) => path.endsWith('.heph'))).subarray(0, 5_000));
  await dropped(page, 'cut.heph', readFileSync(file('cut.heph')));
  const [cut] = json('info', '--json', file('cut.heph'));
  const said = await page.textContent('#what');
  for (const { level, kind } of cut.notes) assert.ok(said.includes(`${level}: ${kind}`), `${kind} in ${said}`);
  await dropped(page, 'broken.gz', Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]));
  assert.match(await page.textContent('#error'), /^broken\.gz: /);
});
