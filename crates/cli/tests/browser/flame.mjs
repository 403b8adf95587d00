// The flame graph's page says what `top` says.
import assert from 'node:assert/strict';
import { accessible, browse, file, json, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
traceloom('flame', shop, '-o', file('flame.html'));
const [top] = json('top', '--json', shop);

await browse(async (page, open) => {
  await open('flame.html');
  await accessible(page, 'graph');
  await page.click('.as-table');
  await accessible(page, 'table');
  const rows = await page.$$eval('.rows tbody tr', (rows) => rows.length);
  assert.equal(rows, top.functions.length);
});
