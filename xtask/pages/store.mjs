// Measures what a collector answers over many captures: a page of calls, the next one, a sort, a service, Now. The store has
// TRACELOOM_STORE_GIB of originals (20 unless said): 400 dumps of an agent, ten a time that they are of. Then the worst case: as many
// captures as TRACELOOM_STORE_CAPTURES says (6,000), all of the same hour.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { browse, file, json, promise, ROUNDS, serve, tell, traceloom } from './measure.mjs';

const GIB = Number(process.env.TRACELOOM_STORE_GIB ?? 20);
const SMALL = Number(process.env.TRACELOOM_STORE_CAPTURES ?? 6000);
const TIMES = 40;
const OF_ONE_TIME = 10;

/** Waits until everything is sealed and decoded. */
async function settled(origin, captures) {
  for (;;) {
    const metrics = await (await fetch(`${origin}/metrics`)).text();
    const value = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0);
    if (value('traceloom_unsealed_bytes') === 0 && value('traceloom_facts_queue') === 0) {
      const { rows } = await (await fetch(`${origin}/api/v1/captures`)).json();
      if (rows.length === captures && rows.every(({ facts }) => facts)) return rows;
    }
    await setTimeout(2000);
  }
}

/** Asks for a page of calls; returns the milliseconds it took, what follows, and how much was read for it. */
async function page(origin, question) {
  const start = performance.now();
  const answer = await (await fetch(`${origin}/api/v1/calls?${question}`)).json();
  const took = performance.now() - start;
  if (!answer.rows?.length) throw new Error(JSON.stringify(answer).slice(0, 400));
  return { took, next: answer.next, counts: answer.counts };
}

/** Measures lists, and says how many captures each read. */
async function lists(origin, what, services) {
  const names = ['newest', 'next', 'tenth', 'service', 'lastHour'];
  const times = Object.fromEntries(names.map((name) => [name, []]));
  const read = {};
  for (let round = 0; round < ROUNDS; round++) {
    // Another number of rows each time, so that no answer is one that was given before.
    const n = `n=${200 - round}`;
    const ask = async (name, question) => {
      const { took, next, counts } = await page(origin, `${n}&${question}`);
      times[name]?.push(took);
      read[name] = `${counts.captures_read} of ${counts.captures}`;
      return next;
    };
    let next = await ask('newest', '');
    next = await ask('next', `after=${encodeURIComponent(next)}`);
    for (let more = 3; more <= 10; more++) next = await ask(more === 10 ? 'tenth' : 'between', `after=${encodeURIComponent(next)}`);
    await ask('service', `svc=${services[round % services.length]}`);
    const [first] = (await (await fetch(`${origin}/api/v1/calls?n=1`)).json()).rows;
    await ask('lastHour', `from=${BigInt(Math.floor(first.start / 1e9) - 3600) * 1_000_000_000n}`);
  }
  promise(`${what}: the newest page of calls (${read.newest} captures read)`, times.newest, 300);
  promise(`${what}: the page behind it (${read.next})`, times.next, 300);
  promise(`${what}: the tenth page (${read.tenth})`, times.tenth, 300);
  promise(`${what}: the newest page of a service (${read.service})`, times.service, 300);
  promise(`${what}: the newest page of the last hour (${read.lastHour})`, times.lastHour, 300);
}

/** Milliseconds until a page of the app shows something. */
async function painted(origin, pages, what) {
  await browse(async (page) => {
    page.setDefaultTimeout(150_000);
    for (const [name, address, shown, most] of pages) {
      const times = [];
      for (let round = 0; round < 3; round++) {
        await page.goto('about:blank');
        const start = performance.now();
        await page.goto(origin + address, { waitUntil: 'commit' });
        await page.locator(shown).first().waitFor();
        times.push(performance.now() - start);
      }
      if (most) promise(`${what}: ${name}`, times, most);
      else tell(`${what}: ${name}`, times);
    }
  }, { origin, viewport: { width: 1440, height: 1000 } });
}

// Dumps of 40 hours, ten services each.
await serve(async ({ cdt, origin }) => {
  const bytes = Math.floor((GIB * 2 ** 30) / TIMES / OF_ONE_TIME * 0.78);
  const services = Array.from({ length: OF_ONE_TIME }, (_, at) => `service-${at}`);
  const began = performance.now();
  for (let hour = 0; hour < TIMES; hour++) {
    execFileSync(process.env.TRACELOOM_SAMPLE_DUMP, [file('dump'), String(bytes), String(hour % 4 + 1)]);
    traceloom('convert', file('dump'), file('streams'), '--to', 'cdt-streams', '--shift', `dump=+${hour}h`);
    for (const service of services) traceloom('send', file('streams'), '--to', cdt, '--service', service);
    for (const name of ['dump', 'streams']) rmSync(file(name), { recursive: true });
  }
  const captures = await settled(origin, TIMES * OF_ONE_TIME);
  const sum = (rows, of) => rows.flatMap(({ parts }) => parts).reduce((sum, part) => sum + part[of], 0);
  const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const all = captures.reduce((sum, { facts }) => sum + facts.calls, 0);
  console.log(`${captures.length} captures, ${gib(sum(captures, 'bytes'))} of originals, ${gib(sum(captures, 'stored_bytes'))} stored, ${all.toLocaleString('en-US')} calls, received and decoded in ${Math.round((performance.now() - began) / 1000)} s`);
  await lists(origin, gib(sum(captures, 'bytes')), services);
  // Half a gigabyte of captures.
  const some = [];
  for (const capture of captures) if (sum(some, 'bytes') < 500 << 20) some.push(capture);
  const chosen = some.map(({ id }) => `capture=${id}`).join('&');
  const times = { sort: [], next: [], all: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const sorted = `${chosen}&sort=-duration&q=${encodeURIComponent(`duration >= ${round + 1}us`)}`;
    const { took, next } = await page(origin, `n=200&${sorted}`);
    times.sort.push(took);
    times.next.push((await page(origin, `n=200&${sorted}&after=${encodeURIComponent(next)}`)).took);
    if (round < 3) times.all.push((await page(origin, `n=${200 - round}&sort=-duration&q=${encodeURIComponent(`duration >= ${round + 1}us`)}`)).took);
  }
  promise(`a sort by duration over ${gib(sum(some, 'bytes'))}`, times.sort, 3000);
  promise('its next page', times.next, 100);
  tell(`a sort by duration over ${gib(sum(captures, 'bytes'))}`, times.all);
  await painted(origin, [
    ['Now, to its services', '/', '.blk:has(h2:text("Services")) tbody tr a', 1000],
    ['Now, to the figures of its newest 256 MiB', '/', '.figs.far b'],
    ['Calls, to the newest', '/calls', 'tr[data-row]', 1000],
    ['Captures, to the list', '/captures', 'main tbody tr'],
    ['Profiles of 256 MiB, to the graph', `/profiles?budget=${256 << 20}`, '.fetched[aria-busy=false] .flame .view'],
  ], gib(sum(captures, 'bytes')));
});
rmSync(file('data'), { recursive: true });

// Small captures that all cover the same hour.
await serve(async ({ origin }) => {
  const send = async (capture) => {
    const span = (call) => {
      const id = (1 + capture * 50 + call).toString(16).padStart(16, '0');
      return { traceId: id, id, name: 'get /orders', timestamp: 1_700_000_000_000_000 + call * 72_000_000 + ((capture * 7919) % SMALL) * 100, duration: 1000 + capture, localEndpoint: { serviceName: 'shop' } };
    };
    const body = JSON.stringify(Array.from({ length: 50 }, (_, call) => span(call)));
    const answer = await fetch(`${origin}/api/v1/upload?name=spans.json&service=service-${capture % 10}`, { method: 'POST', body });
    if (!answer.ok) throw new Error(await answer.text());
  };
  for (let sent = 0; sent < SMALL; sent += 20) await Promise.all(Array.from({ length: 20 }, (_, at) => send(sent + at)));
  const { length } = await settled(origin, SMALL);
  await lists(origin, `${length} captures of one hour`, ['service-0', 'service-3', 'service-9']);
});
rmSync(file('data'), { recursive: true });
