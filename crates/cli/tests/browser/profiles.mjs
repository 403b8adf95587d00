// Profiles: what is chosen, alone and in comparison, is what `top` and `diff` print of the same captures.
import assert from 'node:assert/strict';
import { accessible, addressOf, answered, browse, compare, comparedRows, decoded, flameRows, inTime, json, nanoseconds, painted, serve, traceloom, visit } from './browser.mjs';

const [shop] = process.argv.slice(2);
const near = (text, value) => assert.ok(value === 0 ? /^0( ns)?$/.test(text) : Math.abs(nanoseconds(text) / value - 1) < 0.005, `${text} for ${value}`);
const query = async (page) => (await addressOf(page)).searchParams;
/** The functions that a graph's part lists: name, self, total, calls. */
async function functions(page) {
  const rows = await flameRows(page);
  return rows.map((row) => [row.at(-1), row[0], row[2], row.at(-2)]);
}
async function equal(page, top) {
  const shown = await functions(page);
  assert.deepEqual(shown.map(([name, , , count]) => [name, count]).sort(), top.functions.map((row) => [row.function, row.count.toLocaleString('en-US')]).sort());
  const by = new Map(top.functions.map((row) => [row.function, row]));
  for (const [name, self, total] of shown) {
    near(self, by.get(name).self);
    near(total, by.get(name).total);
  }
}

await serve(async ({ cdt, origin, data }) => {
  for (const service of ['shop', 'shop', 'stock']) traceloom('send', shop, '--to', cdt, '--service', service);
  const chosen = `${data}#1-1,1-2`;

  await browse(async (page) => {
    // A service: its functions; keys of the graph are none of the filter's.
    await page.goto(`${origin}/profiles?svc=shop`);
    await page.locator('.flame .view').waitFor();
    await accessible(page, 'Profiles');
    await equal(page, json('top', '--json', chosen)[0]);
    // By what functions belong to, and by thread.
    const turn = async (dimension) => {
      await page.locator('.flame .dimension').selectOption(dimension);
      await page.waitForFunction((dimension) => document.querySelector('.flame .dimension').value === dimension, dimension);
    };
    for (const dimension of ['class', 'package']) {
      await turn(dimension);
      await equal(page, json('top', '--json', `--dimension=${dimension}`, chosen)[0]);
    }
    await turn('thread');
    await page.locator('.flame .view-tree').click();
    const threads = await page.$$eval('.flame [role=treegrid] tbody tr[aria-level="1"]', (rows) => rows.map((row) => row.querySelector('[title]').title));
    assert.deepEqual(threads.sort(), [...new Set(json('calls', '--json', chosen).map(({ thread }) => thread))].sort());
    await turn('method');
    await page.locator('.flame .view-graph').click();
    await painted(page);
    // A press on the time of a function is one on its name.
    const [most] = json('top', '--json', chosen)[0].functions;
    await page.locator('.flame .funcs tbody tr', { has: page.getByTitle(most.function, { exact: true }) }).locator('td').first().click();
    await page.locator('.flame .sandwich h2', { hasText: most.function.split('.').at(-1) }).waitFor();
    await page.goto(`${origin}/profiles?svc=shop`);
    await page.locator('.fetched[aria-busy=false] .flame .view').waitFor();
    await page.getByRole('combobox', { name: 'Filter' }).fill('hi');
    assert.equal(await page.isHidden('.cuts'), true);

    // A filter says what it leaves, of what.
    const filter = 'thread = "http-nio-8080-exec-1"';
    await page.getByRole('combobox', { name: 'Filter' }).fill(filter);
    await page.keyboard.press('Enter');
    await page.locator('.left').waitFor();
    const [left] = json('top', '--json', `--filter=${filter}`, chosen);
    const [, some, all] = /wall of calls: (.+) of (.+)\.$/.exec(await page.textContent('.left'));
    near(some, left.total);
    near(all, json('top', '--json', chosen)[0].total);
    await page.locator('.fetched[aria-busy=false] .flame').waitFor();
    await equal(page, left);
    // Back takes the view of the part back, then the filter.
    await page.goBack();
    await page.goBack();
    await page.locator('.left').waitFor({ state: 'detached' });

    // A stretch that is dragged in the strip is compared with as much before it; both sides stand alone by a press.
    await page.locator('.fetched[aria-busy=false] .flame .view-graph').click();
    // The sentence is of everything.
    await page.locator('.flame .finding').waitFor();
    await answered(page);
    const strip = await page.locator('.strip').boundingBox();
    await page.mouse.move(strip.x + strip.width * 0.5, strip.y + 40);
    await page.mouse.down();
    await page.mouse.move(strip.x + strip.width * 0.7, strip.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes('w='));
    assert.equal(await page.isHidden('.flame .finding'), true);
    await compare(page);
    await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor();
    await accessible(page, 'Comparison');
    const sought = await query(page);
    const bounds = Object.fromEntries(['from', 'to', 'base_from', 'base_to'].map((name) => [name, sought.get(name)]));
    assert.equal(bounds.base_to, bounds.from);
    const flags = [`--since=${bounds.from}`, `--until=${bounds.to}`, `--base-since=${bounds.base_from}`, `--base-until=${bounds.base_to}`];
    const [diff] = json('diff', '--json', '--wide', chosen, chosen, ...flags);
    const rows = await flameRows(page);
    assert.equal(rows.length, diff.functions.length);
    const by = new Map(diff.functions.map((row) => [row.function, row]));
    for (const row of rows) {
      const { before, after } = by.get(row.at(-1));
      near(row[2], before.self);
      near(row[3], after.self);
    }
    const comparison = (await addressOf(page)).href;
    await page.getByRole('link', { name: 'Before alone' }).click();
    await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor({ state: 'hidden' });
    await equal(page, json('top', '--json', chosen, `--since=${bounds.base_from}`, `--until=${bounds.base_to}`)[0]);
    await page.goto(comparison);
    await page.getByRole('link', { name: 'After alone' }).click();
    await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor({ state: 'hidden' });
    await equal(page, json('top', '--json', chosen, `--since=${bounds.from}`, `--until=${bounds.to}`)[0]);

    // Two captures.
    await page.goto(`${origin}/profiles?capture=1-3`);
    await page.locator('.fetched[aria-busy=false] .flame').waitFor();
    await compare(page);
    await page.getByText('Nothing to compare with yet.').waitFor();
    await page.getByRole('combobox', { name: 'Capture' }).selectOption('1-2');
    await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor();
    assert.equal((await query(page)).get('base'), '1-2');
    const [before, after] = ['1-2', '1-3'].map((id) => `${data}#${id}`);
    const [uploads] = json('diff', '--json', '--wide', before, after);
    const own = (await comparedRows(page)).map(({ name, before, after }) => [name, before, after]);
    assert.equal(own.length, uploads.functions.length);
    for (const [name, was, is] of own) {
      const row = uploads.functions.find((row) => row.function === name);
      near(was, row.before.self);
      near(is, row.after.self);
    }
    const sides = (await addressOf(page)).href;
    for (const [name, side, id] of [['Before alone', before, '1-2'], ['After alone', after, '1-3']]) {
      await page.goto(sides);
      await page.getByRole('link', { name }).click();
      await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor({ state: 'hidden' });
      await equal(page, json('top', '--json', side)[0]);
      assert.deepEqual([(await query(page)).get('capture'), (await query(page)).get('base')], [id, null]);
    }

    // What takes long says what is read, and can be left: the question is taken back.
    for (const [address, question, what] of [['/profiles?svc=stock', '**/view/flame?*', 'Profiles'], ['/timeline', '**/view/timeline?*', 'Timeline'], ['/memory?tab=gc', '**/api/v1/objects?*', 'GC'], ['/', '**/api/v1/calls/overview?*', 'Calls']]) {
      await page.route(question, () => {});
      await page.goto(`${origin}${address}`);
      await page.getByRole('status').filter({ hasText: `Reading: ${what}.` }).waitFor();
      const [request] = await Promise.all([page.waitForEvent('requestfailed'), page.getByRole('button', { name: 'Cancel' }).click()]);
      assert.equal(request.failure().errorText, 'net::ERR_ABORTED', request.url());
      await page.unroute(question);
      await page.getByText(`Not read: ${what}.`).waitFor();
      await page.getByRole('button', { name: 'Read it' }).click();
      await page.getByText(`Not read: ${what}.`).waitFor({ state: 'detached' });
      await answered(page);
    }
    // Of this dump the first that memory has are collections.
    await page.goto(`${origin}/memory`);
    await page.getByRole('tab', { name: /^GC/, selected: true }).waitFor();

    // Single profiles: every capture, the newest first; a press shows one alone.
    await decoded(data, 3);
    await page.goto(`${origin}/profiles`);
    await page.getByRole('button', { name: 'Single profiles' }).click();
    await page.getByText('3 captures').waitFor();
    await accessible(page, 'Single profiles');
    assert.deepEqual(await page.$$eval('tbody tr', (rows) => rows.map((row) => row.cells[0].textContent.split(' ').at(-1))), ['1-3', '1-2', '1-1']);
    assert.equal(await page.locator('.heat rect').count() > 0, true);
    // The service and the time choose among them: what each holds counts, not when it came.
    const named = () => page.$$eval('tbody tr', (rows) => rows.map((row) => row.cells[0].textContent.split(' ').at(-1)));
    for (const [query, left] of [['svc=shop', ['1-2', '1-1']], ['svc=default/stock', ['1-3']], ['from=2026-03-14T04:52:00Z', ['1-3', '1-2', '1-1']], ['from=-1h', []], ['to=2026-03-14T00:00:00Z', []]]) {
      await visit(page, `/profiles?view=single&${query}`);
      await page.getByText(left.length === 1 ? '1 capture' : `${left.length} captures`, { exact: true }).waitFor();
      assert.deepEqual(await named(), left, query);
    }
    await visit(page, '/profiles?view=single');
    await page.getByText('3 captures').waitFor();
    await page.getByRole('link', { name: / 1-2$/ }).click();
    await page.locator('.fetched[aria-busy=false] .flame').waitFor();
    await equal(page, json('top', '--json', `${data}#1-2`)[0]);
  }, { origin });

  // Where nothing lies in a stretch of time, that is no fault; and a report that there is not says why.
  await browse(async (page) => {
    await page.goto(`${origin}/profiles?to=2020-01-01T00:00:00Z`);
    await page.locator('.note', { hasText: 'There is nothing to draw.' }).waitFor();
    await answered(page);
    assert.equal(await page.locator('.note.bad').count(), 0);
    await page.goto(`${origin}/draw?view=report&svc=nobody`);
    await page.locator('.note.bad', { hasText: 'no capture is of nobody' }).waitFor();
    assert.equal(await page.frameLocator('iframe').locator('body').textContent(), '');
    await visit(page, '/profiles?view=single&svc=nobody');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByText('3 captures').waitFor();
  }, { origin, asked: [404, 422] });

  // A filter that cannot be read says so, and dark has the same.
  await browse(async (page) => {
    await page.goto(`${origin}/profiles?q=duration%20%3E`);
    await page.locator('.note.bad').waitFor();
    await page.goto(`${origin}/profiles?svc=shop`);
    await page.locator('.fetched[aria-busy=false] .flame').waitFor();
    await accessible(page, 'dark Profiles');
    // On a phone functions are seen below the graph.
    const functions = page.locator('.flame .funcs tbody tr');
    await answered(page);
    await functions.nth(3).scrollIntoViewIfNeeded();
    const row = await functions.nth(3).boundingBox();
    assert.ok(row.y > 0 && row.y + row.height <= 844 && (await page.locator('.flame .funcs').boundingBox()).height >= 4 * row.height, 'four functions have room');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }, { origin, asked: 400, colorScheme: 'dark', viewport: { width: 390, height: 844 } });

  // What is seen of the graph stays with a reload, and comes back with Back.
  await browse(async (page) => {
    const here = () => page.locator('.fetched[aria-busy=false] .flame .view-graph').waitFor();
    const hash = () => page.evaluate(() => location.hash);
    const seen = () => page.evaluate(() => {
      const of = (name) => document.querySelector(`.flame .${name}`);
      return [of('dimension').value, of('search').value, document.querySelectorAll('.flame .path button').length, of('told').textContent];
    });
    const drawn = async (wanted) => {
      await here();
      await inTime(async () => assert.deepEqual(await seen(), wanted));
    };
    await page.goto(`${origin}/profiles?svc=shop`);
    await here();
    await page.locator('.flame .dimension').selectOption('class');
    await page.locator('.flame .search').fill('Repository');
    await page.waitForTimeout(600);
    await answered(page);
    const view = await page.locator('.flame .view').boundingBox();
    for (let press = 0; press < 2; press++) {
      await page.mouse.click(view.x + view.width * 0.1, view.y + 30);
      await page.waitForTimeout(600);
    }
    const zoomed = await seen();
    const address = await hash();
    assert.deepEqual([zoomed[0], zoomed[1], zoomed[2] > 0], ['class', 'Repository', true]);
    await page.reload();
    await drawn(zoomed);
    assert.equal(await hash(), address);
    // Another page of the app, and a filter on this one.
    await page.locator('nav a[href^="/captures"]').first().click();
    await page.waitForURL(/captures/);
    await page.goBack();
    await drawn(zoomed);
    await page.getByRole('combobox', { name: 'Filter' }).fill('duration > 1ms');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=/);
    await here();
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes('q='));
    await drawn(zoomed);
    assert.equal(await hash(), address);
    // Forward leads to the filter again, and back to what was zoomed.
    await page.goForward();
    await page.waitForURL(/q=/);
    await page.locator('.left').waitFor();
    await here();
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes('q='));
    await drawn(zoomed);
    await page.goForward();
    await page.waitForURL(/q=/);
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes('q='));
    await drawn(zoomed);
    assert.equal(await hash(), address);
    // What is zoomed and searched goes along to a comparison, to either side of it, and back.
    await page.goto(`${origin}/profiles?svc=shop&view=compare&base=1-3`);
    await here();
    await page.locator('.flame .search').fill('Repository');
    await page.waitForTimeout(600);
    await answered(page);
    const graph = await page.locator('.flame .view').boundingBox();
    for (let press = 0; press < 2; press++) {
      await page.mouse.click(graph.x + graph.width * 0.1, graph.y + 30);
      await page.waitForTimeout(600);
    }
    const way = () => page.locator('.flame .path button').allTextContents();
    const lookedAt = async () => [await page.locator('.flame .search').inputValue(), await way()];
    const common = await lookedAt();
    assert.deepEqual([common[0], common[1].length > 0], ['Repository', true]);
    const isSame = () => inTime(async () => assert.deepEqual(await lookedAt(), common));
    for (const name of ['Before alone', 'After alone']) {
      await page.getByRole('link', { name }).click();
      await page.waitForURL((url) => !url.searchParams.has('view'));
      await here();
      await isSame();
      await page.goBack();
      await page.waitForURL(/view=compare/);
      await here();
      await isSame();
    }
    // Both sides of a comparison, and what is seen of it.
    await page.goto(`${origin}/profiles?svc=shop&view=compare&base=1-3`);
    await here();
    await page.locator('.flame .search').fill('Order');
    await page.locator('.flame .recordings button').nth(1).click();
    const compared = async () => [await page.locator('.flame .search').inputValue(), await page.locator('.flame .recordings button[aria-pressed=true]').textContent()];
    const before = await compared();
    await page.reload();
    await here();
    await page.waitForFunction(() => document.querySelector('.flame .search').value === 'Order');
    assert.deepEqual(await compared(), before);
  }, { origin });
});
