// The timeline's page says what `timeline --json` says, and does what its keys promise.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, addressOf, browse, file, inTime, json, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
traceloom('timeline', shop, '-o', file('shop.html'));
const [told] = json('timeline', '--json', shop);
const [hotspots] = json('top', '--hotspots', '--json', shop);
traceloom('timeline', shop, '--most', '40', '-o', file('few.html'));

// Two spans of one nanosecond, an overlap, a name that is no markup.
const hostile = '</script><b onclick=alert(1)>';
const event = (name, ts, dur, tid = 1) => ({ ph: 'X', pid: 1, tid, ts, dur, name });
const asynchronous = (name, id, ts, ph) => ({ ph, cat: 'task', id, pid: 1, tid: 1, ts, name });
writeFileSync(file('small.json'), JSON.stringify([
  event('outer', 0, 1000), event('one', 0.001, 0.001), event('two', 0.003, 0.001), event(hostile, 500, 100),
  asynchronous('first', 7, 10, 'b'), asynchronous('second', 8, 20, 'b'), asynchronous('first', 7, 30, 'e'), asynchronous('second', 8, 40, 'e'),
]));
traceloom('timeline', file('small.json'), '-o', file('small.html'));

const text = (page, name) => page.textContent(`.timeline .${name}`);
const tracks = (page) => page.$$eval('.timeline .rows table:first-of-type tbody tr', (lines) => lines.map((line) => {
  const cell = (name) => line.querySelector(`[data-of="${name}"]`);
  const said = (name) => cell(name)?.textContent ?? '';
  const number = (name) => +said(name).replaceAll(',', '');
  return {
    name: said('track'), process: said('process'), kind: said('kind'), spans: number('spans'), events: number('events'),
    busy: +cell('busy').dataset.ns, longest: +cell('longest').dataset.ns, paused: +(cell('paused')?.dataset.ns ?? 0),
  };
}));

await browse(async (page, open) => {
  await open('shop.html');
  await accessible(page, 'canvas');
  await page.keyboard.press('v');
  await accessible(page, 'table');
  assert.deepEqual(await tracks(page), told.tracks.map(({ name, process, kind, spans, events, busy_ns, longest_ns, pauses }) =>
    ({ name, process, kind, spans, events, busy: busy_ns, longest: longest_ns, paused: pauses.total_ns })));
  // Kinds of work come to what the hot spots do; what has no kind is told apart by what it is.
  const times = await page.$$eval('.timeline .legend .n', (all) => all.map((one) => +one.dataset.ns));
  const own = hotspots.categories.map(({ self }) => self);
  assert.equal(times.reduce((a, b) => a + b), own.reduce((a, b) => a + b));
  const named = hotspots.categories.filter(({ category, self }) => category && self).map(({ self }) => self);
  assert.ok(named.length > 1);
  assert.deepEqual(named.filter((self) => !times.includes(self)), []);
  const busiest = told.tracks.reduce((a, b) => b.spans > a.spans ? b : a);
  await page.click(`.timeline .rows button:text-is("${busiest.name}")`);
  const heading = await page.textContent('.timeline .rows h2:last-of-type');
  assert.equal(heading, `${busiest.name}: ${busiest.spans} spans in the window`);
  await page.keyboard.press('v');

  // A drag on the strip of the whole shows that stretch: from 40 % to 60 % of it.
  const strip = await page.locator('.timeline .overview canvas').boundingBox();
  const [gutter, middle] = [208, strip.y + strip.height / 2];
  const at = (share) => strip.x + gutter + (strip.width - gutter) * share;
  await page.mouse.move(at(0.4), middle);
  await page.mouse.down();
  await page.mouse.move(at(0.5), middle);
  await page.mouse.move(at(0.6), middle);
  await page.mouse.up();
  await inTime(async () => {
    const { hash } = await addressOf(page);
    const [from, span] = (/v=(-?\d+)_(\d+)/.exec(hash) ?? []).slice(1).map(Number);
    assert.ok(span < 1e10 && Math.abs(from / span - 2) < 0.05, `${hash}: the stretch begins at twice its length`);
  });
  await page.keyboard.press('0');

  // What ran between two points: between the ends it is what `top` says, to the nanosecond.
  const view = await page.locator('.timeline .view').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(view.x + gutter + 6, view.y + 120);
  await page.mouse.down();
  await page.mouse.move(view.x + view.width / 2, view.y + 120);
  await page.mouse.move(view.x + view.width - 3, view.y + 120);
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await accessible(page, 'range');
  const [top] = json('top', '--json', '-n', '0', shop);
  const ran = await page.$$eval('.timeline .ran tbody tr', (rows) => rows.map((row) => [
    +row.querySelector('[data-of="self"]').dataset.ns, +row.querySelector('[data-of="total"]').dataset.ns,
    +row.querySelector('[data-of="calls"]').textContent, row.querySelector('button').title,
  ]));
  assert.equal(ran.length, 20);
  const expected = top.functions.slice(0, 20).map((row) => [row.self, row.total, row.count, row.function]);
  assert.deepEqual(ran.map(String).sort(), expected.map(String).sort());
  await page.keyboard.press('Escape');

  await page.keyboard.press('/');
  await page.keyboard.type('CheckoutController');
  const matches = +(await text(page, 'matched')).split(' ')[0];
  assert.ok(matches > 0);
  await page.keyboard.press('Enter');
  const first = await text(page, 'details');
  assert.match(first, /CheckoutController/);
  for (let match = 1; match < matches; match++) await page.keyboard.press('Enter');
  const last = await text(page, 'details');
  await page.keyboard.press('Enter');
  assert.equal(await text(page, 'details'), first, 'round and back to the first match');
  await page.click('.timeline .previous');
  assert.equal(await text(page, 'details'), last);
  await page.keyboard.press('p');
  await page.waitForFunction(() => /(^|&)p=t\d+/.test(location.hash) && /[#&]v=-?\d+_/.test(location.hash));
  const link = (await addressOf(page)).href.split('#')[1];
  await page.goto('about:blank');
  await open('shop.html', `#${link}`);
  assert.equal(await text(page, 'matched'), `${matches} matches`);
  assert.equal(await text(page, 'details'), last, 'a link brings the selection back');

  await open('small.html');
  await page.keyboard.press('v');
  const small = await tracks(page);
  assert.deepEqual(small.map(({ kind, spans, longest }) => [kind, spans, longest]),
    [['thread', 4, 1e6], ['async', 1, 20000], ['async', 1, 20000]]);
  await page.keyboard.press('v');
  await page.keyboard.press('/');
  await page.keyboard.type('^one$');
  await page.keyboard.press('Enter');
  assert.match(await text(page, 'details'), /^one 1 ns.*duration1 ns/);
  await page.keyboard.press('Escape');
  await page.focus('.timeline .view');
  await page.keyboard.press('f');
  // From the start of one to its end, then to the end of the other: one nanosecond, then three.
  await page.keyboard.press('m');
  await page.keyboard.press('m');
  assert.match(await text(page, 'details'), /^Measured: 1 ns/);
  await page.keyboard.press('m');
  await page.keyboard.press('ArrowRight');
  assert.match(await text(page, 'details'), /^two 1 ns/);
  await page.keyboard.press('m');
  assert.match(await text(page, 'details'), /^Measured: 3 ns/);
  await page.keyboard.press('ArrowUp');
  assert.match(await text(page, 'details'), /^outer 1 ms · self 900 µs.*899,998 ns/s);
  await page.keyboard.press('/');
  await page.keyboard.type('onclick');
  await page.keyboard.press('Enter');
  assert.ok((await text(page, 'details')).startsWith(hostile));
}, { reducedMotion: 'reduce' });

// Where spans are drawn together nothing is said of what kinds of work, or functions, took by themselves.
await browse(async (page, open) => {
  await open('few.html');
  assert.match(await page.textContent('.missing'), /shortest spans and events are drawn together/);
  assert.ok(await page.locator('.timeline .legend button').count() > 1);
  assert.equal(await page.locator('.timeline .legend .n').count(), 0);
  const view = await page.locator('.timeline .view').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(view.x + 214, view.y + 120);
  await page.mouse.down();
  await page.mouse.move(view.x + view.width - 3, view.y + 120);
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const heads = await page.$$eval('.timeline .ran th', (all) => all.map((one) => one.textContent));
  assert.deepEqual(heads, ['total', 'calls', 'function']);
  const together = +/([\d,]+) spans are drawn together here/.exec(await page.textContent('.timeline .ran'))[1].replaceAll(',', '');
  assert.ok(together > 0 && together < told.tracks.reduce((sum, { spans }) => sum + spans, 0), `${together}`);
}, { reducedMotion: 'reduce' });

// Paper has every track, as wide as it is: not the slice of a window, squeezed. Behind it the window is as it was.
await browse(async (page, open) => {
  await open('shop.html');
  const drawing = () => page.$eval('.timeline .view canvas', (canvas) => [canvas.width, canvas.height]);
  const window = await drawing();
  const all = await page.$eval('.timeline .room', (room) => Number.parseFloat(room.style.height));
  assert.ok(all > window[1], `${all} pixels of tracks in ${window[1]}`);
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  const [wide, high] = await drawing();
  const whole = await page.$eval('.timeline .room', (room) => Number.parseFloat(room.style.height));
  assert.deepEqual([wide, high], [2 * 718, 2 * whole]);
  assert.equal(await page.textContent('.beyond'), '');
  await page.emulateMedia({ media: 'print' });
  // In strips, a track each: what does not fit a sheet goes on with the next one.
  const strips = await page.$$eval('.timeline .view .strips canvas', (all) => all.map((one) => [one.clientWidth, one.clientHeight]));
  const [across, down] = [strips[0][0], strips.reduce((sum, [, high]) => sum + high, 0)];
  assert.ok(strips.length > 5 && strips.every(([, high]) => high < 300), `${strips}`);
  assert.ok(Math.abs(across / down - wide / high) < 0.02, `${across} by ${down} of ${wide} by ${high}`);
  await page.emulateMedia({ media: null });
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.deepEqual(await drawing(), window);
});
