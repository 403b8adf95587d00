// The report shows what the other views print, whatever the names, on the screen and on paper.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { accessible, addressOf, browse, file, json, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
traceloom('report', shop, '-o', file('report.html'), '-n', '0');
const [top] = json('top', '--json', shop);
const calls = json('calls', '--json', '--sort', '-duration', shop);
const [shapes] = json('top', '--by', 'sql-shape', '--json', shop);

/** What pages call kinds of work. */
const titles = new Map(JSON.parse(readFileSync(new URL('../../../../ui/examples/kinds.json', import.meta.url), 'utf8')));

const table = (page, label) => page.$$eval(`table[aria-label="${label}"] tbody tr`, (rows) => rows.map((row) => [...row.cells].map((cell) => (cell.querySelector('summary') ?? cell).textContent)));
const amounts = (page, values) => page.evaluate((values) => values.map((value) => window.amountOf(value)), values);

await browse(async (page, open) => {
  await page.addInitScript(() => { window.amountOf = (value) => traceloom.amount('ns', value); });
  await open('report.html');
  await accessible(page, 'report');
  assert.equal(await page.textContent('h1'), 'shop');

  // The key figures are those of the list of calls and of `top --hotspots`; `z` turns times to the reader's zone and back.
  const ended = calls.filter((call) => call.status !== 'running').map((call) => call.duration).sort((a, b) => a - b);
  const nth = (percent) => ended[Math.ceil((percent * ended.length) / 100) - 1];
  const [kinds] = json('top', '--hotspots', '--json', shop);
  const largest = kinds.categories.find((row) => row.category);
  const figures = await page.$$eval('.figures > div', (all) => all.map((one) => [one.children[0].textContent, one.children[1].textContent]));
  assert.deepEqual(figures.slice(0, 5), [
    ['calls, 1 failed', String(calls.length)],
    ['median', ...(await amounts(page, [nth(50)]))],
    ['95th percentile', ...(await amounts(page, [nth(95)]))],
    ['longest', ...(await amounts(page, [calls[0].duration]))],
    [`${titles.get(largest.category)}, ${(largest.self * 100 / kinds.total).toFixed(2)} %`, ...(await amounts(page, [largest.self]))],
  ]);
  // How few calls take half of the time, and when.
  const sum = calls.reduce((sum, call) => sum + call.duration, 0);
  let few = 0;
  for (let taken = 0; taken * 2 < sum; few++) taken += calls[few].duration;
  assert.ok((await page.textContent('.story')).startsWith(`${few} of ${calls.length} calls take `), await page.textContent('.story'));
  assert.match(await page.getAttribute('svg.when', 'aria-label'), /^threads at work, at most \d\.\d$/);
  assert.ok((await page.textContent('.kinds')).includes(titles.get(largest.category)));

  // When a call began is its distance from the first; exactly in the tooltip and in what the call opens to.
  const start = (call) => Math.round(call.start / 1e6);
  const first = Math.min(...calls.map(start));
  const offsets = await amounts(page, calls.map((call) => (start(call) - first) * 1e6));
  assert.deepEqual((await table(page, 'Slowest calls')).map(([, offset]) => offset), offsets.map((offset) => offset === '0 ns' ? '0' : `+${offset}`));
  const began = () => page.getAttribute('table[aria-label="Slowest calls"] td.when [title]', 'title');
  const utc = await began();
  assert.ok((await page.textContent('table[aria-label="Slowest calls"] details dl')).startsWith(`began${utc}`));
  await page.keyboard.press('z');
  assert.equal(await began(), utc.replace(/Z$/, '+05:30').replace(/T\d\d:\d\d/, 'T10:22'));
  await page.keyboard.press('z');
  assert.equal(await began(), utc);

  const durations = await amounts(page, calls.map((call) => call.duration));
  assert.deepEqual(
    (await table(page, 'Slowest calls')).map(([duration, , thread, failed, title]) => [duration, thread, failed === 'failed', title]),
    calls.map((call, i) => [durations[i], call.thread, call.error, call.title ?? call.method]),
  );
  // Each has its course, and what of it was the largest kind of work.
  const drawn = await page.$$eval('svg.course', (all) => all.filter((one) => one.querySelector('path')).length);
  assert.equal(drawn, calls.filter((call) => call.duration > 0).length);
  assert.ok((await page.textContent('table[aria-label="Slowest calls"] th')).endsWith(`of it ${titles.get(largest.category).toLowerCase()}`));
  const own = await amounts(page, top.functions.flatMap((row) => [row.self, row.total]));
  const label = await page.getAttribute('#functions ~ .scroll table', 'aria-label');
  assert.deepEqual(
    (await table(page, label)).map(([self, , total, , count, name]) => [self, total, count, name]),
    top.functions.map((row, i) => [own[2 * i], own[2 * i + 1], row.count.toLocaleString('en-US'), row.function]),
  );
  const counted = new Map(shapes.groups.filter((group) => !group.group.startsWith('(no ')).map((group) => [group.group, group.count]));
  const statements = new Map((await table(page, 'SQL by shape')).map((row) => [row[5], +row[1].replace(',', '')]));
  assert.deepEqual(statements, counted);
  const failed = calls.filter((call) => call.error).length;
  assert.ok((await page.textContent('#provenance ~ .facts')).includes(`${calls.length} calls of 1,121 spans; ${failed} failed`));

  // The graph of a report answers as the page of its own does.
  await page.click('.flame .view-table');
  assert.equal((await page.$$('.flame .rows tbody tr')).length, top.functions.length);
  await accessible(page, 'report with a table');
  // The contents lead to a section and leave the address to the graphs.
  await page.click('.contents a[href="#errors"]');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'errors');
  assert.equal(new URLSearchParams((await addressOf(page)).hash.slice(1)).get('flame-0.v'), 'table');
  // Calls that are closed are closed on paper, too.
  const paper = await page.pdf({ format: 'A4' });
  assert.ok(paper.length > 20_000);
  const closed = () => page.$$eval('details:not([open])', (all) => all.length);
  assert.ok(await closed() > 0);
  const closedNow = await closed();
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await closed(), closedNow);
}, { timezoneId: 'Asia/Kolkata' });

// A report in the dark.
await browse(async (page, open) => {
  await open('report.html');
  await accessible(page, 'dark report');
}, { colorScheme: 'dark' });

const hostile = '</script><img src=x onerror=alert(1)>\u2028"\'';
const event = (name, ph, ts, args) => ({ name, ph, ts, pid: 1, tid: 1, args });
writeFileSync(file('hostile.json'), JSON.stringify([
  { name: 'thread_name', ph: 'M', pid: 1, tid: 1, args: { name: hostile } },
  event(hostile, 'B', 10, { sql: `select '1' from "${hostile}"`, exception: `${hostile}: 3\nCaused by: ${hostile}` }),
  event(hostile, 'E', 90, {}),
]));
traceloom('report', file('hostile.json'), '-o', file('hostile.html'), '--title', hostile);
await browse(async (page, open) => {
  await open('hostile.html');
  await accessible(page, 'hostile report');
  assert.equal(await page.textContent('h1'), hostile);
  assert.equal((await table(page, 'Slowest calls'))[0][4], hostile);
  const [error] = await table(page, 'Errors');
  assert.ok(error[3].includes(hostile), error[3]);
  assert.equal((await page.$$('img')).length, 0);
});

// A sampled profile has no calls, and says so.
writeFileSync(file('cpu.folded'), 'main;work 7\nmain 2\n');
traceloom('report', file('cpu.folded'), '-o', file('cpu.html'));
await browse(async (page, open) => {
  await open('cpu.html');
  await accessible(page, 'sampled report');
  assert.equal((await page.$$('#calls, #pauses, #sql')).length, 0);
  assert.ok((await page.textContent('#provenance ~ .facts')).includes('a sampled profile; no calls, no SQL statements'));
  assert.equal((await page.$$('.flame')).length, 1);
});
