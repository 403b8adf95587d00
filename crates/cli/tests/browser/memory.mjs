// Memory and locks: rows are those of `objects` and `monitors`, in the order that a head says, with what each row opens to.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { accessible, addressOf, answered, browse, json, nanoseconds, pushed, serve } from './browser.mjs';

const [recording] = process.argv.slice(2);
const rows = (page) => page.$$eval('tbody tr[tabindex]', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
/** A tab asks a frame after it is drawn: that it is not busy says nothing before. */
const settled = async (page, label) => {
  await answered(page);
  await page.locator(`[role=tabpanel][aria-busy=false] table[aria-label="${label}"]`).waitFor();
};
const near = (text, value) => assert.ok(Math.abs(nanoseconds(text) / value - 1) < 0.005, `${text} for ${value}`);
const grouped = (value) => value.toLocaleString('en-US');

await serve(async ({ origin, data }) => {
  pushed(recording, origin);
  const [heap] = json('objects', '--json', data);
  const monitors = json('monitors', '--json', data);
  for (const colorScheme of ['light', 'dark']) {
    await browse(async (page) => {
      // Classes, those with most live bytes first; a head sorts, and Back takes that back.
      await page.goto(`${origin}/memory`);
      await settled(page, 'Classes');
      await accessible(page, 'Objects');
      const byBytes = heap.classes.toSorted((a, b) => b.live.bytes - a.live.bytes);
      const shown = await rows(page);
      assert.equal(shown.length, Math.min(heap.classes.length, 200));
      assert.deepEqual(shown.map((row) => [row[0], row.at(-1)]), byBytes.slice(0, 200).map((row) => [grouped(row.live.count), row.class]));
      // Samples tell of no release, and no collection has what lived before it.
      assert.ok(!heap.source.tracked && !heap.source.counted && heap.classes.every(({ freed, delta }) => !freed.count && !delta?.count));
      assert.deepEqual([...new Set(shown.map((row) => `${row[2]} ${row[5]}`))], ['– –']);
      // j and k go along the rows.
      for (const [key, at] of [['j', 0], ['j', 1], ['j', 2], ['k', 1]]) {
        await page.keyboard.press(key);
        assert.equal(await page.evaluate(() => [...document.querySelectorAll('tbody tr[tabindex]')].indexOf(document.activeElement)), at, key);
      }
      await page.getByRole('button', { name: 'allocated' }).click();
      const most = heap.classes.reduce((a, b) => (b.allocated.count > a.allocated.count ? b : a));
      await page.waitForFunction((name) => document.querySelector('tbody tr[tabindex] td:last-child').textContent === name, most.class);
      assert.equal((await addressOf(page)).searchParams.get('sort'), '-allocated');
      await page.goBack();
      await page.waitForFunction((name) => document.querySelector('tbody tr[tabindex] td:last-child').textContent === name, byBytes[0].class);

      // Monitors, and who held the one that blocked most.
      await page.getByRole('tab', { name: 'Monitors' }).click();
      await settled(page, 'Monitors');
      await accessible(page, 'Monitors');
      const blocked = ({ contended, waited, parked }) => contended.total_ns + waited.total_ns + parked.total_ns;
      const worst = monitors.toSorted((a, b) => blocked(b) - blocked(a))[0];
      const [first] = await rows(page);
      near(first[0], blocked(worst));
      assert.ok(first.at(-1).startsWith(worst.class), first.at(-1));
      await page.locator('tbody tr[tabindex]').first().press('Enter');
      const pane = page.getByRole('complementary', { name: 'Details' });
      await pane.getByText(worst.owners[0].thread).first().waitFor();
      await pane.getByText(worst.stacks[0].frames[0]).first().waitFor();
      await accessible(page, 'a monitor');
      // Escape closes what is open.
      await page.keyboard.press('Escape');
      await pane.waitFor({ state: 'detached' });

      // Collections, the last one first.
      await page.getByRole('tab', { name: 'GC' }).click();
      await settled(page, 'Collections');
      await accessible(page, 'GC');
      const collections = heap.collections.toSorted((a, b) => b.time_ns - a.time_ns);
      const told = await rows(page);
      assert.deepEqual(told.map((row) => row.at(-1)), collections.map(({ number }) => grouped(number)));
      told.forEach((row, at) => near(row[1], collections[at].took_ns));
      assert.equal(await page.locator('.heat .took').count(), collections.length);
    }, { origin, colorScheme });
  }
  // Of two processes rows are what they come to together, and each alone.
  pushed(recording, origin);
  await browse(async (page) => {
    const both = json('objects', '--json', data);
    const waits = json('monitors', '--json', data);
    assert.deepEqual(both.map(({ recording }) => recording.capture), ['1-1', '1-2']);
    await page.goto(`${origin}/memory`);
    await settled(page, 'Classes');
    await accessible(page, 'two processes');
    const sums = new Map();
    for (const { class: name, live, allocated } of both.flatMap(({ classes }) => classes)) {
      const [count, bytes] = sums.get(name) ?? [0, 0];
      sums.set(name, [count + live.count, bytes + allocated.count]);
    }
    assert.equal(await page.locator('[role=tab][aria-selected=true] .dim3').textContent(), grouped(sums.size));
    const together = await rows(page);
    assert.deepEqual(together.map((row) => [row.at(-1), row[0], row[3]]), together.map((row) => [row.at(-1), ...sums.get(row.at(-1)).map(grouped)]));
    const process = page.locator('select[name=process]');
    assert.equal(await process.locator('option').first().textContent(), 'all 2 together');

    // What is chosen, and which row is open, is in the address.
    await page.getByRole('tab', { name: 'Monitors' }).click();
    await settled(page, 'Monitors');
    assert.equal(await page.locator('[role=tab][aria-selected=true] .dim3').textContent(), grouped(waits.length));
    const named = new Set((await rows(page)).map((row) => row.at(-2)));
    assert.deepEqual([...named].sort(), ['1-1', '1-2']);
    await process.selectOption(both[1].recording.file);
    const own = waits.filter(({ recording }) => recording.capture === '1-2');
    await page.waitForFunction((n) => document.querySelectorAll('tbody tr[tabindex]').length === n, Math.min(own.length, 200));
    await page.locator('tbody tr[tabindex]').first().press('Enter');
    const pane = page.getByRole('complementary', { name: 'Details' });
    const title = await pane.locator('h2').textContent();
    await page.reload();
    await settled(page, 'Monitors');
    assert.equal(await pane.locator('h2').textContent(), title);
    assert.equal(await process.inputValue(), both[1].recording.file);
    await page.goBack();
    await pane.waitFor({ state: 'detached' });
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('select[name=process]').value === '');
  }, { origin });
  // Of what a thread dump shows, nobody knows for how long.
  const dump = join(dirname(recording), '../cdt/text/20231219T062435UTC.td.txt');
  pushed(dump, origin);
  const seen = json('monitors', '--json', dump);
  assert.ok(seen.length > 0 && seen.every(({ contended, waited, parked }) => !contended.count && !waited.count && !parked.count));
  await browse(async (page) => {
    await page.goto(`${origin}/memory?tab=monitors&capture=1-3`);
    await settled(page, 'Monitors');
    const told = await rows(page);
    assert.equal(told.length, Math.min(seen.length, 200));
    for (const [blocked, longest] of told) assert.deepEqual([blocked, longest], ['–', '–']);
    const kinds = ['contended', 'waited', 'parked'];
    const dashes = seen.flatMap((row) => kinds.filter((kind) => row[kind].seen)).length;
    assert.equal(told.flatMap((row) => row.slice(2, 5)).filter((text) => text === '–').length, dashes);
  }, { origin });
  // A capture without them says what has them.
  await browse(async (page) => {
    await page.goto(`${origin}/memory?capture=1-1&q=${encodeURIComponent('thread = nobody')}&tab=monitors`);
    await page.getByText('Nobody waited for a monitor').waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }, { origin, viewport: { width: 390, height: 844 } });
});
