// The timeline of a collector: its longest spans at first, and every one of the stretch that is looked at.
import assert from 'node:assert/strict';
import { accessible, browse, json, painted, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);

await serve(async ({ cdt, origin, data }) => {
  traceloom('send', shop, '--to', cdt, '--service', 'shop');
  const chosen = `${data}#1-1`;
  const [timeline] = json('timeline', '--json', chosen);
  // A short span deep in a call, whose neighbours are far enough away to press it.
  const calls = json('calls', chosen, '--json').filter(({ calls }) => calls > 8);
  const spans = calls.flatMap(({ capture, thread }) => json('call', '--json', chosen, capture.call)[0].spans.map((span) => ({ ...span, thread })));
  const short = spans.find(({ depth, start_ns, end_ns }) => depth > 2 && end_ns - start_ns > 1e6 && end_ns - start_ns < 9e6);
  assert.ok(short);
  // The clock has milliseconds; numbers of JSON lose the last digits of a date.
  const exact = ({ start_ns, end_ns }) => Math.round((end_ns - start_ns) / 1e6) * 1e6;
  const length = exact(short);

  await browse(async (page) => {
    const asked = [];
    page.on('request', (request) => request.url().includes('/view/timeline') && asked.push(new URL(request.url()).searchParams));
    await page.goto(`${origin}/timeline?capture=1-1&items=40`);
    await page.locator('.timeline .view').waitFor();
    await accessible(page, 'Timeline');
    // Tiles are asked for when the window has rested: a moment of the page's own clock, after which it would have asked.
    await page.evaluate(() => new Promise((done) => setTimeout(done, 500)));
    assert.deepEqual(asked.map((one) => [one.get('items'), one.get('from')]), [['40', null]], 'the whole asks for nothing more');
    assert.match(await page.textContent('.missing'), /shortest spans and events are drawn together/);

    // A window around the span: its stretch is asked for, and the span is there with its exact length.
    const since = Math.round(short.start_ns - timeline.start_ns - length * 2);
    await page.goto('about:blank');
    await page.goto(`${origin}/timeline?capture=1-1&items=40#v=${since}_${length * 5}&o=name&x=${timeline.tracks.map((_, at) => `t${at}`).join('.')}`);
    await page.locator('.timeline[aria-busy=false]').waitFor();
    const [, tile] = asked.slice(-2);
    assert.ok(BigInt(tile.get('from')) < BigInt(Math.round(short.start_ns)) && BigInt(tile.get('to')) > BigInt(Math.round(short.end_ns)));
    await painted(page);
    const view = await page.locator('.timeline .view').boundingBox();
    const x = view.x + 208 + (view.width - 208) * 0.5;
    let found = '';
    const room = await page.$eval('.timeline .room', (room) => Number.parseFloat(room.style.height));
    for (let scroll = 0; scroll < room && !found; scroll += view.height - 60) {
      await page.$eval('.timeline .view', (view, top) => { view.scrollTop = top; }, scroll);
      for (let y = view.y + 40; y < view.y + view.height - 4 && !found; y += 8) {
        await page.mouse.click(x, y);
        const details = await page.textContent('.timeline .details');
        if (details.startsWith(short.function) && details.includes(`(${length.toLocaleString('en-US')} ns)`)) found = details;
      }
    }
    assert.ok(found.includes(short.thread), `${short.function} of ${length} ns is not in the tile`);
    // What begins before the stretch and ends behind it is whole.
    const around = spans.find(({ depth, start_ns, end_ns, thread }) => depth === 0 && thread === short.thread && start_ns <= short.start_ns && end_ns >= short.end_ns);
    await page.focus('.timeline .view');
    for (let step = 0; step < short.depth; step++) await page.keyboard.press('ArrowUp');
    const whole = await page.textContent('.timeline .details');
    assert.ok(whole.startsWith(around.function), whole);
    assert.ok(whole.includes(`(${exact(around).toLocaleString('en-US')} ns)`), whole);
    assert.ok(!whole.includes('was not recorded'), whole);
    await accessible(page, 'Timeline with a tile');

    // A capture without dates in which nothing happened is no reason to ask for no tiles.
    const named = JSON.stringify([{ ph: 'M', pid: 1, tid: 1, name: 'process_name', args: { name: 'idle' } }]);
    const sent = await fetch(`${origin}/api/v1/upload?name=idle.json`, { method: 'POST', body: named });
    assert.equal(sent.status, 201, await sent.text());
    asked.length = 0;
    await page.goto('about:blank');
    await page.goto(`${origin}/timeline?items=40#v=${since}_${length * 5}`);
    await page.locator('.timeline[aria-busy=false]').waitFor();
    assert.match(await page.textContent('.missing'), /1 of 2 recordings have nothing to show/);
    assert.equal(asked.at(-1).has('from'), true, 'a tile is asked for');
  }, { origin });
});
