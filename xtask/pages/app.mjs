// Measures the app of a collector: what is seen first, the list of many calls, a call of many spans. With TRACELOOM_PICTURES it
// takes pictures of its pages into that folder instead.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { browse, drawn, file, json, promise, ROUNDS, serve, tell, traceloom } from './measure.mjs';

const CALLS = 100_000;
const SPANS = 90_000;
const SHOP = new URL('../../testdata/shop', import.meta.url).pathname;

/** A Chrome trace: calls of half a minute, or one call of many spans. */
const calls = () => JSON.stringify(Array.from({ length: CALLS }, (_, at) => ({ ph: 'X', pid: 1, tid: at % 8, ts: at * 300, dur: 1 + ((at * 7919) % 2000), name: `com.acme.shop.Service${at % 60}.work${at % 9}` })));
function spans() {
  const events = [{ ph: 'X', pid: 1, tid: 1, ts: 0, dur: SPANS * 20, name: 'com.acme.shop.Batch.run' }];
  for (let at = 0; events.length < SPANS; at++) {
    const ts = at * 60;
    for (let depth = 0; depth < 3; depth++) events.push({ ph: 'X', pid: 1, tid: 1, ts: ts + depth, dur: 50 - depth * 10, name: `com.acme.shop.Layer${depth}.step${(at + depth) % 200}` });
  }
  return JSON.stringify(events);
}

/** Milliseconds from the address to the first row or figure that says something. */
const paint = async (page, url, what) => {
  await page.goto('about:blank');
  const start = performance.now();
  await page.goto(url, { waitUntil: 'commit' });
  await page.locator(what).first().waitFor();
  return performance.now() - start;
};

/** Milliseconds between the frames while a list is scrolled. */
const scrolled = (page) => page.evaluate(async () => {
  const list = document.querySelector('.list');
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < 60; frame++) {
    list.scrollTop += 90;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
});

const measure = () => serve(async ({ cdt, origin, data }) => {
  traceloom('send', SHOP, '--to', cdt, '--service', 'shop');
  for (const [name, text] of [['calls.json', calls()], ['spans.json', spans()]]) {
    writeFileSync(file(name), text);
    traceloom('push', file(name), '--to', origin);
  }
  const captures = json('captures', 'ls', data, '--json');
  const id = (name) => captures.find(({ parts }) => parts[0].name.endsWith(`/${name}.json`)).id;
  await browse(async (page) => {
    const times = { now: [], calls: [], call: [] };
    for (let round = 0; round < ROUNDS; round++) {
      times.now.push(await paint(page, `${origin}/`, 'h1:has-text("sent"), h1:has-text("took")'));
      times.calls.push(await paint(page, `${origin}/calls?svc=shop`, 'tr[data-row]'));
      times.call.push(await paint(page, `${origin}/call/${id('spans')}/${encodeURIComponent('#0')}`, '.tree tbody tr'));
    }
    promise('Now, from its address to its first figures', times.now, 1000);
    promise('Calls, to the newest', times.calls, 1000);
    tell(`a call of ${SPANS.toLocaleString('en-US')} spans, to its tree`, times.call);
    await page.goto(`${origin}/calls?capture=${id('calls')}&sort=-duration`);
    await page.locator('tr[data-row]').first().waitFor();
    await page.getByText('calls of a cell').waitFor({ timeout: 120_000 });
    promise(`scrolling a list of ${CALLS.toLocaleString('en-US')} calls, a frame`, await scrolled(page), 33);
    await page.goto(`${origin}/call/${id('spans')}/${encodeURIComponent('#0')}?view=flame`);
    await page.locator('.flame .view').waitFor();
    const key = (key) => document.querySelector('.flame .view').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    const zooms = [];
    for (let round = 0; round < ROUNDS; round++) {
      await page.evaluate(key, 'ArrowDown');
      zooms.push(await drawn(page, key, round % 2 ? '0' : 'Enter'));
    }
    promise('zoom in its flame graph', zooms, 50);
  }, { origin, viewport: { width: 1440, height: 900 } });
});

/** Bytes of captures that are sorted, and calls of one capture of them. */
const SORTED = 500 * 2 ** 20;
const REQUESTS = 12_000;

/** A Chrome trace of requests, each with some levels of calls below. */
function requests() {
  const events = [];
  for (let at = 0; at < REQUESTS; at++) {
    const [tid, start, long] = [at % 16, Math.floor(at / 16) * 9000, 4000 + ((at * 7919) % 4000)];
    events.push({ ph: 'X', pid: 1, tid, ts: start, dur: long, name: `com.acme.shop.Service${at % 60}.work${at % 9}` });
    for (let layer = 0; layer < 40; layer++) events.push({ ph: 'X', pid: 1, tid, ts: start + 10 + layer * 90, dur: 80, name: `com.acme.shop.Layer${layer % 7}.step${(at + layer) % 200}` });
  }
  return JSON.stringify(events);
}

/** Bytes of what is kept, as its senders sent them. */
const keptBytes = async (origin) => (await (await fetch(`${origin}/api/v1/services`)).json()).rows.reduce((sum, { bytes }) => sum + bytes, 0);

/** The list of calls over the captures of a busy day: the newest page, and a sort whose result is kept. */
const sorting = () => serve(async ({ cdt, origin }) => {
  const [trace, streams] = ['requests.json', 'requests'].map(file);
  writeFileSync(trace, requests());
  traceloom('convert', trace, streams, '--to', 'cdt-streams', '--force');
  const send = (...more) => traceloom('send', streams, '--to', cdt, '--service', 'shop', ...more);
  send();
  const one = await keptBytes(origin);
  send('--agents', String(Math.max(Math.ceil(SORTED / one) - 1, 1)));
  const bytes = await keptBytes(origin);
  const size = `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  // As on any other day: what arrived is decoded. It is a matter of how much arrives at a time, and told beside the rest.
  const decoding = performance.now();
  const isDecoded = async () => (await (await fetch(`${origin}/api/v1/captures`)).json()).rows.every(({ facts }) => facts);
  while (!await isDecoded()) await new Promise((done) => setTimeout(done, 200));
  tell(`decoding ${size}, in the background`, [performance.now() - decoding]);
  const page = async (question) => {
    const start = performance.now();
    const answer = await (await fetch(`${origin}/api/v1/calls?n=200&${question}`)).json();
    const took = performance.now() - start;
    if (answer.rows?.length !== 200) throw new Error(JSON.stringify(answer).slice(0, 400));
    return { took, next: answer.next };
  };
  const times = { newest: [], sort: [], next: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.newest.push((await page('sort=-start')).took);
    // Another filter each time: what was kept of the last one is no answer.
    const sorted = `sort=-duration&q=${encodeURIComponent(`duration >= ${round + 1}us`)}`;
    const { took, next } = await page(sorted);
    times.sort.push(took);
    times.next.push((await page(`${sorted}&after=${encodeURIComponent(next)}`)).took);
  }
  promise(`the newest page of calls of ${size}`, times.newest, 300);
  promise(`a sort by duration over ${size}`, times.sort, 3000);
  promise('its next page', times.next, 100);
});

/** A trace of TPTP's agent with objects, collections and monitors of a shop. */
function heap() {
  const classes = [
    ['com/acme/shop/order/OrderLine', 48], ['com/acme/shop/order/Order', 96], ['com/acme/shop/catalog/Product', 64],
    ['com/acme/shop/catalog/PriceCache$Entry', 40], ['com/acme/shop/session/Basket', 72], ['com/acme/shop/session/Session', 136],
    ['java/util/HashMap$Node', 32], ['java/lang/String', 24], ['[B', 152], ['java/math/BigDecimal', 40], ['java/time/Instant', 24],
    ['com/acme/shop/voucher/VoucherPolicy', 56],
  ];
  const start = 1773463907;
  const at = (ms) => `time="${start + Math.floor(ms / 1000)}.${String(Math.floor(ms % 1000)).padStart(3, '0')}000000"`;
  const lines = [];
  const threads = ['http-nio-8080-exec-1', 'http-nio-8080-exec-2', 'http-nio-8080-exec-3', 'price-refresh'];
  threads.forEach((name, thread) => lines.push(`<threadStart threadId="${thread + 1}" ${at(0)} threadName="${name}" groupName="main" parentName="system"/>`));
  classes.forEach(([name], id) => lines.push(`<classDef name="${name}" classId="${id + 1}" ${at(1)} threadIdRef="1"/>`));
  const monitors = [['com/acme/shop/catalog/PriceCache', 9001], ['com/acme/shop/session/SessionStore', 9002], ['org/postgresql/core/QueryExecutor', 9003]];
  monitors.forEach(([name, object], number) => {
    lines.push(`<classDef name="${name}" classId="${90 + number}" ${at(1)} threadIdRef="1"/>`);
    lines.push(`<objAlloc threadIdRef="1" ${at(2)} isArray="0" objId="${object}" size="64" classIdRef="${90 + number}"/>`);
  });
  const live = [];
  let next = 1;
  for (let round = 0; round < 12; round++) {
    const from = 10 + round * 2500;
    for (let n = 0; n < 600; n++) {
      const kind = (n * n + round * 7) % classes.length;
      lines.push(`<objAlloc threadIdRef="${n % 4 + 1}" ${at(from + n * 3)} isArray="${classes[kind][0] === '[B' ? 1 : 0}" objId="${next}" size="${classes[kind][1]}" classIdRef="${kind + 1}"/>`);
      live.push([next++, kind]);
    }
    monitors.forEach(([, object], number) => {
      for (let n = 0; n <= 3 - number; n++) {
        const since = from + 1850 + n * 120 + number * 9;
        const thread = (n + round + number) % 3 + 1;
        const where = `<annotation name="stack" method="${['com/acme/shop/catalog/PriceCache.get', 'com/acme/shop/session/SessionStore.touch', 'org/postgresql/core/QueryExecutor.execute'][number]}" line="${61 + number * 20}"/>`;
        lines.push(`<monContendedEnter threadIdRef="${thread}" ${at(since)} objIdRef="${object}" threadOwner="${(thread + round) % 4 + 1}">${where}</monContendedEnter>`);
        lines.push(`<monContendedEntered threadIdRef="${thread}" ${at(since + 12 + round * 3 + n * 17 - number * 2)} objIdRef="${object}">${where}</monContendedEntered>`);
      }
    });
    lines.push(`<gcStart ${at(from + 2400)}/>`);
    // The cache and what sessions hold stay; most of the rest goes.
    const gone = live.filter(([id, kind]) => ![3, 5].includes(kind) && id % 9 !== 0);
    gone.forEach(([id]) => lines.push(`<objFree ${at(from + 2402)} objIdRef="${id}"/>`));
    live.splice(0, live.length, ...live.filter((one) => !gone.includes(one)));
    lines.push(`<gcFinish ${at(from + 2404 + round % 5 * 6)}/>`);
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n<TRACE>\n${lines.join('\n')}\n</TRACE>\n`;
}

/** The pages of a collector that holds the shop alone, light and dark, wide and on a phone. */
async function pictures(folder) {
  await serve(async ({ cdt, origin, data }) => {
    traceloom('send', SHOP, '--to', cdt, '--service', 'shop-backend');
    // Only Memory & locks is of objects and monitors: its pages choose the capture.
    const memory = async () => {
      writeFileSync(file('heap.trcxml'), heap());
      traceloom('push', file('heap.trcxml'), '--to', origin);
      return json('captures', 'ls', data, '--json').at(-1).id;
    };
    const rows = json('calls', data, '--json', '--sort=-duration');
    const most = rows.toSorted((a, b) => b.calls - a.calls)[0];
    const pages = [
      ['now', '/', 'h2:has-text("Where the time goes")'],
      ['calls', `/calls?svc=shop-backend&sort=-duration&sel=${encodeURIComponent(`${most.capture.id}/${most.capture.call}`)}`, '.scatter, .cards'],
      ['call', `/call/${most.capture.id}/${most.capture.call}?svc=shop-backend&sort=-duration`, '.tree tbody tr'],
      ['profiles', '/profiles?svc=shop-backend', '.fetched[aria-busy=false] .flame .view'],
      ['timeline', '/timeline?svc=shop-backend', '.fetched[aria-busy=false] canvas'],
      ['captures', `/captures/${most.capture.id}`, 'pre.hex'],
      ['settings', '/settings', 'h1'],
    ];
    const objects = [
      ['memory', (id) => `/memory?capture=${id}`, '[role=tabpanel][aria-busy=false] table'],
      ['locks', (id) => `/memory?capture=${id}&tab=monitors`, '[role=tabpanel][aria-busy=false] table'],
      ['gc', (id) => `/memory?capture=${id}&tab=gc`, '[role=tabpanel][aria-busy=false] table'],
    ];
    const taken = async (pages) => {
      for (const [width, height] of [[1440, 900], [390, 844]]) {
        for (const colorScheme of ['light', 'dark']) {
          await browse(async (page) => {
            for (const [name, address, what] of pages) {
              await page.goto(origin + address);
              await page.locator(what).first().waitFor();
              await page.waitForLoadState('networkidle');
              await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
            }
          }, { origin, colorScheme, viewport: { width, height }, hasTouch: width < 500 });
        }
      }
    };
    await taken(pages);
    const id = await memory();
    await taken(objects.map(([name, address, what]) => [name, address(id), what]));
  }, '--keep-days', '14');
}
const folder = process.env.TRACELOOM_PICTURES;
if (folder) await pictures(folder);
else {
  await measure();
  // Another collector, with nothing of the first.
  rmSync(file('data'), { recursive: true });
  await sorting();
}
