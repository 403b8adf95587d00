// One call: every number of its page is of what `call --json` prints.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, addressOf, answered, browse, file, json, nanoseconds, pushed, sameFunctions, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const near = (text, value) => assert.ok(value ? Math.abs(nanoseconds(text) / value - 1) < 0.006 : text === '0', `${text} for ${value}`);
const share = (text, part, whole) => assert.ok(Math.abs(parseFloat(text) - (100 * part) / whole) < 0.06, `${text} for ${part} of ${whole}`);
const cells = (page, rows) => page.$$eval(rows, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
const figure = (page, name) => page.locator('.callhead .figs > div', { hasText: name }).locator('b').textContent();

/** What functions on a path took, by the path. */
function paths(spans) {
  const sums = new Map();
  const path = [];
  for (const span of spans) {
    path.length = span.depth;
    path.push(span.function);
    const sum = sums.get(path.join('\n')) ?? { name: span.function, total: 0, self: 0, times: 0 };
    sum.total += span.end_ns - span.start_ns;
    sum.self += span.self_ns;
    sum.times += 1;
    sums.set(path.join('\n'), sum);
  }
  return [...sums.values()];
}

/**
 * What the end of a call waited for, moment by moment: at each, of the spans that run, the one that the end still waits for. It is found
 * from the end back among the borders of spans, where the page walks the tree.
 */
function waited(spans) {
  const ends = spans.map(({ offset_ns: from, duration_ns: took }) => [from, from + took]);
  const parents = [];
  const above = [];
  for (const [at, { depth }] of spans.entries()) {
    above.length = depth;
    parents.push(above.at(-1) ?? -1);
    above.push(at);
  }
  const sums = new Map();
  let [current, moment] = [0, ends[0][1]];
  const done = new Set();
  while (current >= 0) {
    // The child that ended last before the moment, and was not left yet.
    let next = -1;
    for (const [at, parent] of parents.entries()) {
      const isOpen = parent === current && !done.has(at) && Math.min(ends[at][1], moment) > Math.max(ends[at][0], ends[current][0]);
      if (isOpen && (next < 0 || Math.min(ends[at][1], moment) > Math.min(ends[next][1], moment))) next = at;
    }
    const until = next < 0 ? ends[current][0] : Math.min(ends[next][1], moment);
    sums.set(current, (sums.get(current) ?? 0) + moment - until);
    moment = until;
    if (next < 0) {
      done.add(current);
      current = parents[current];
    } else current = next;
  }
  return [...sums].filter(([, ns]) => ns > 0).sort(([one], [other]) => one - other).map(([at, ns]) => ({ span: spans[at], ns }));
}

/** Two services, and a call from one to the other. */
function trace() {
  const at = (ms) => String((1_790_000_000_000 + ms) * 1_000_000);
  const span = (spanId, parentSpanId, name, from, to) => ({ traceId: '0123456789abcdef0123456789abcdef', spanId, parentSpanId, name, kind: 2, startTimeUnixNano: at(from), endTimeUnixNano: at(to) });
  const of = (service, spans) => ({ resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] }, scopeSpans: [{ spans }] });
  return { resourceSpans: [of('front', [span('00000000000000a1', '', 'GET /basket', 0, 100)]), of('stock', [span('00000000000000b1', '00000000000000a1', 'GET /stock', 20, 70)])] };
}

await serve(async ({ cdt, origin, data }) => {
  traceloom('send', shop, '--to', cdt, '--service', 'shop');
  const all = json('calls', data, '--json', '--sort=-duration');
  const most = all.toSorted((a, b) => b.calls - a.calls)[0];
  const failed = all.find(({ error }) => error);
  const detail = (row) => json('call', '--json', `${data}#${row.capture.id}`, row.capture.call)[0];
  const page_of = (row, query = '') => `${origin}/call/${row.capture.id}/${row.capture.call}${query}`;

  await browse(async (page) => {
    // From the list: the row, its pane, its page, and along the list.
    await page.goto(`${origin}/calls?svc=shop&sort=-duration`);
    await page.locator('tr[data-row]').first().click();
    await page.getByRole('complementary', { name: 'The call' }).getByRole('link', { name: all[0].title }).click();
    await page.waitForURL(/\/call\//);
    await page.getByText(`1 of ${all.length} by duration`).waitFor();
    await page.getByRole('button', { name: 'The next call' }).click();
    await page.getByText(`2 of ${all.length} by duration`).waitFor();
    assert.ok((await addressOf(page)).pathname.endsWith(`/${all[1].capture.call}`));
    await page.getByRole('heading', { level: 1, name: all[1].title }).waitFor();
    await page.goBack();
    await page.getByText(`1 of ${all.length} by duration`).waitFor();

    // Key figures.
    await page.goto(page_of(most));
    const call = detail(most);
    const { spans } = call;
    await page.getByRole('tab', { name: 'Tree' }).waitFor();
    near(await figure(page, 'duration'), call.duration_ns);
    assert.equal(await figure(page, 'spans'), String(call.all_spans));
    assert.equal(await figure(page, 'statements'), String(call.sql.reduce((sum, { times }) => sum + times, 0)));
    near(await figure(page, 'paused'), call.suspended_ns);
    const database = spans.filter(({ category }) => category === 'db').reduce((sum, { self_ns }) => sum + self_ns, 0);
    near(await figure(page, 'database'), database);

    // The tree, every node of it.
    await page.getByRole('combobox', { name: 'Hide under' }).selectOption('0');
    for (let round = 0; round < 40; round++) {
      const closed = page.locator('.tree tr[aria-expanded=false] .tw').first();
      if (!(await closed.count())) break;
      await closed.click();
    }
    const nodes = paths(spans);
    const rows = await cells(page, '.tree tbody tr');
    assert.equal(rows.length, nodes.length);
    for (const [name, total, part, self, times] of rows) {
      const node = nodes.find((node) => {
        const method = node.name.split('(')[0].split('.').at(-1);
        return name.startsWith(method) && times === String(node.times) && Math.abs(nanoseconds(total) / node.total - 1) < 0.006;
      });
      assert.ok(node, `${name} ${total} × ${times}`);
      near(self, node.self);
      share(part, node.total, call.duration_ns);
    }
    await accessible(page, 'Tree');

    // Which rows are open is in the address: of all of them, and of one that was closed again.
    const openRows = () => page.$$eval('.tree tbody tr', (rows) => rows.map((row) => `${row.getAttribute('aria-level')} ${row.getAttribute('aria-expanded')} ${row.textContent}`));
    const again = async (before) => {
      await page.waitForFunction((n) => document.querySelectorAll('.tree tbody tr').length === n, before.length);
      assert.deepEqual(await openRows(), before);
    };
    const everything = await openRows();
    const address = (await addressOf(page)).href;
    await page.reload();
    await again(everything);
    const inner = page.locator('.tree tbody tr[aria-expanded=true]').nth(2);
    await inner.locator('.tw').click();
    const fewer = await openRows();
    assert.ok(fewer.length < everything.length);
    await page.reload();
    await again(fewer);
    // They stay with a function that is pressed, and with another tab.
    await page.locator('.tree tbody tr').last().click();
    await page.waitForURL(/fn=/);
    await page.reload();
    await again(fewer);
    await page.getByRole('tab', { name: 'Hotspots' }).click();
    await page.goBack();
    await again(fewer);
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes('fn='));
    await again(fewer);
    // None is open: that is no default either.
    await page.locator('.tree tbody tr[aria-expanded=true] .tw').first().click();
    const none = await openRows();
    await page.reload();
    await again(none);
    await page.goto(page_of(most, '?hide=0#tree.open=9-9.x.0-0.5-1.-1--1.1e9-0'));
    await page.locator('.tree tbody tr').first().waitFor();
    await page.goto(address);
    await again(everything);

    // Callers and callees of a function that is pressed.
    const list = spans.find(({ category }) => category === 'orm').function.split('.').at(-1);
    await page.locator('.tree tbody tr', { hasText: list }).first().click();
    const around = page.getByRole('region', { name: 'Callers and callees' });
    await around.getByText('called by').waitFor();
    await around.getByText('executeQuery').waitFor();
    // Their times are those of the spans above and below its own.
    const pressed = (await addressOf(page)).searchParams.get('fn');
    const [callers, callees] = [new Map(), new Map()];
    const above = [];
    for (const span of spans) {
      above.length = span.depth;
      const parent = above.at(-1)?.function ?? '';
      const took = span.end_ns - span.start_ns;
      if (span.function === pressed) callers.set(parent, (callers.get(parent) ?? 0) + took);
      if (parent === pressed) callees.set(span.function, (callees.get(span.function) ?? 0) + took);
      above.push(span);
    }
    for (const [at, sums] of [callers, callees].entries()) {
      const flows = await around.locator('table').nth(at).locator('tr').evaluateAll((rows) => rows.map((row) => [row.cells[0].textContent]));
      const expected = [...sums.values()].sort((a, b) => b - a);
      assert.equal(flows.length, Math.min(expected.length, 12));
      for (const [row, [took]] of flows.entries()) near(took, expected[row]);
    }
    await page.goBack();

    // Bottom-up begins with the functions that took most by themselves.
    const own = new Map();
    for (const span of spans) own.set(span.function, (own.get(span.function) ?? 0) + span.self_ns);
    const [first] = [...own].sort((a, b) => b[1] - a[1]);
    await page.getByRole('tab', { name: 'Bottom-up' }).click();
    const up = (await cells(page, '.tree tbody tr'))[0];
    assert.ok(up[0].startsWith(first[0].split('.').at(-1)), up[0]);
    near(up[1], first[1]);
    near(up[3], first[1]);

    // Hotspots: kinds of work, and their functions.
    await page.getByRole('tab', { name: 'Hotspots' }).click();
    await page.locator('.grp').first().waitFor();
    const kinds = new Map();
    for (const span of spans) kinds.set(span.category ?? 'own', (kinds.get(span.category ?? 'own') ?? 0) + span.self_ns);
    const groups = await cells(page, '.grp');
    assert.equal(groups.length, kinds.size);
    const byTime = [...kinds.values()].sort((a, b) => b - a);
    for (const [at, group] of groups.entries()) near(group[1], byTime[at]);
    assert.equal((await cells(page, 'main tbody tr:not(.grp)')).length, own.size);
    await accessible(page, 'Hotspots');

    // The flame graph is that of pages: its functions are those of the call.
    await page.getByRole('tab', { name: 'Flame graph' }).click();
    await page.getByRole('button', { name: 'Functions' }).click();
    const rowsOfFlame = await cells(page, '.flame .rows tbody tr');
    assert.ok(rowsOfFlame.some((row) => row.some((cell) => cell.startsWith(first[0].split('.').at(-1)))), rowsOfFlame.join('\n'));
    assert.equal(rowsOfFlame.length, own.size);
    await accessible(page, 'Flame graph');
    // By what functions belong to; a dimension that the call has no values for says why.
    const owners = { class: (name) => name.slice(0, name.lastIndexOf('.')), package: (name) => /^(.+?)\.[A-Z]/.exec(name)[1] };
    for (const [dimension, ownerOf] of Object.entries(owners)) {
      await page.locator('.flame .dimension').selectOption(dimension);
      const sums = new Map();
      for (const span of spans) sums.set(ownerOf(span.function), (sums.get(ownerOf(span.function)) ?? 0) + span.self_ns);
      await page.getByRole('button', { name: 'Functions' }).click();
      const listed = await page.$$eval('.flame .rows tbody tr', (rows) => rows.map((row) => [row.querySelector('[title]').title, row.cells[0].textContent]));
      assert.deepEqual(listed.map(([name]) => name).sort(), [...sums.keys()].sort());
      for (const [name, self] of listed) near(self, sums.get(name));
    }
    assert.deepEqual(await page.$$eval('.flame .dimension option:disabled', (options) => options.map(({ textContent }) => textContent)), ['line: no line is recorded', 'thread: no times of threads', 'library: no library is recorded']);

    // What the end waited for, step by step, and all of it comes to the length of the call.
    await page.goto(page_of(most, '?view=path'));
    await page.locator('.c-bar').waitFor({ state: 'attached' });
    const steps = await cells(page, 'main tbody tr');
    const ways = waited(spans);
    assert.equal(steps.length, ways.length);
    assert.equal(ways.reduce((sum, { ns }) => sum + ns, 0), call.duration_ns);
    assert.ok(ways.length > 5, `${ways.length} steps`);
    for (const [at, [after, name, took, part]] of steps.entries()) {
      const { span, ns } = ways[at];
      near(after.replace('+', '').replace(/^0 ns$/, '0'), span.offset_ns);
      assert.ok(name.startsWith(span.function.split('(')[0].split('.').at(-1)), `${name}, step ${at}: ${span.function}`);
      near(took, ns);
      share(part.replace('< ', ''), ns, call.duration_ns);
    }

    // Statements by shape.
    await page.getByRole('tab', { name: 'SQL' }).click();
    await page.locator('main code').first().waitFor();
    const statements = await cells(page, 'main tbody tr');
    assert.equal(statements.length, call.sql.length);
    for (const [at, [time, part, times, text]] of statements.entries()) {
      near(time, call.sql[at].time_ns);
      share(part, call.sql[at].time_ns, call.duration_ns);
      assert.equal(times, String(call.sql[at].times));
      assert.equal(text, call.sql[at].sql.trim());
    }

    // Everything that was recorded.
    const recorded = spans.flatMap(({ attributes }) => attributes);
    await page.getByRole('tab', { name: `Parameters ${recorded.length}` }).click();
    await page.waitForFunction((count) => document.querySelectorAll('main tbody tr').length === count, recorded.length);
    await page.getByRole('textbox', { name: 'Find in this call' }).fill('web.url');
    await page.waitForFunction((count) => document.querySelectorAll('main tbody tr').length === count, recorded.filter(({ name, value }) => `${name} ${value}`.includes('web.url')).length);
    await accessible(page, 'Parameters');

    // An exception with what caused it.
    await page.goto(page_of(failed, '?view=exceptions'));
    const thrown = detail(failed).spans.flatMap(({ attributes }) => attributes).find(({ name }) => name === 'exception').value;
    await page.locator('.thrown b').first().waitFor();
    const shown = await page.locator('.thrown b').allTextContents();
    assert.deepEqual(shown, [/^[\w.]+/, /(?<=Caused by: )[\w.]+/].map((name) => name.exec(thrown)[0]));
    assert.ok((await page.locator('.thrown').nth(1).textContent()).startsWith('caused by'));
    const frames = (await page.locator('.thrown pre').allTextContents()).join('\n').split('\n');
    assert.deepEqual(frames, thrown.split('\n').map((line) => line.trim()).filter((line) => /^(at|\.\.\.) /.test(line)));
    await accessible(page, 'Exceptions');

    // Its thread, drawn as timelines are.
    await page.goto(page_of(failed, '?view=thread'));
    const timeline = page.locator('.timeline > script').first();
    await timeline.waitFor({ state: 'attached' });
    assert.ok((await timeline.textContent()).includes(`"${failed.thread}"`));
    await accessible(page, 'Thread');
    // The profiles of its time and its thread are what `top` says of both; the way there is that of its service once captures are known.
    await answered(page);
    await page.getByRole('link', { name: 'Profiles of that time and thread' }).click();
    await page.waitForURL(/\/profiles\?/);
    // Whatever its service sent then counts, profiles that come by themselves as well.
    const { from, to, q, svc, capture } = Object.fromEntries((await addressOf(page)).searchParams);
    assert.deepEqual([svc, capture], ['shop', undefined]);
    assert.equal(q, `thread = '${failed.thread}'`);
    const meant = [`--since=${from}`, `--until=${to}`, `--filter=${q}`, `${data}#${failed.capture.id}`];
    const tables = json('top', '--json', '--wide', ...meant);
    assert.ok(tables[0].functions.length > 3, 'the call has functions');
    await page.locator('.fetched[aria-busy=false] .flame').waitFor();
    await sameFunctions(page, tables, 'the thread of a call');

    // A trace that crosses two services.
    const path = file('trace.json');
    writeFileSync(path, JSON.stringify(trace()));
    pushed(path, origin);
    const front = json('calls', data, '--json').find(({ method }) => method === 'GET /basket');
    // By its number, and by its trace where a number could mean several.
    await page.goto(`${page_of({ capture: { id: front.capture.id, call: encodeURIComponent(front.capture.call) } })}`);
    await page.getByRole('heading', { level: 1, name: 'GET /basket' }).waitFor();
    await page.goto(page_of({ capture: { id: '-', call: front.trace } }, '?view=trace'));
    await page.getByRole('cell', { name: 'stock', exact: true }).waitFor();
    const services = await cells(page, 'main tbody tr');
    assert.deepEqual(services.map(([, service, , took]) => [service, took]), [['front', '100 ms'], ['stock', '50 ms']]);
  }, { origin, viewport: { width: 1440, height: 900 } });

  await browse(async (page) => {
    await page.goto(page_of(most));
    await page.getByRole('tab', { name: 'Tree' }).waitFor();
    const { width } = await page.evaluate(() => ({ width: document.documentElement.scrollWidth }));
    assert.equal(width, 390);
    await accessible(page, 'A call on a phone');
    // The tab that an address asks for is in sight.
    await page.goto(page_of(most, '?view=trace'));
    const tab = page.getByRole('tab', { name: 'Trace', selected: true });
    await tab.waitFor();
    const { x, width: wide } = await tab.boundingBox();
    assert.ok(x >= 0 && x + wide <= 390, `at ${x}`);
  }, { origin, viewport: { width: 390, height: 844 }, hasTouch: true });
});
