// Captures have more bytes than a question may read: pages say so, and read on.
import assert from 'node:assert/strict';
import { accessible, addressOf, browse, decoded, json, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const figure = (page, name) => page.locator('.figs.far > div', { hasText: name }).locator('b').textContent();

await serve(async ({ cdt, origin, data }) => {
  for (let i = 0; i < 3; i += 1) traceloom('send', shop, '--to', cdt, '--service', 'shop');
  const captures = await decoded(data, 3);
  assert.ok(captures.every(({ state }) => state === 'goodbye'));
  const [, second, third] = captures.map(({ parts }) => parts.reduce((sum, { bytes }) => sum + bytes, 0));
  const budget = second + third;
  await browse(async (page) => {
    const note = page.getByText(/: 2 of 3 captures, the newest\./);
    const pages = ['/', '/calls?q=duration+%3E+10ms&sort=-title', '/profiles', '/timeline', '/memory?tab=monitors'];
    for (const [path, query] of pages.map((path) => path.split('?'))) {
      const asked = new URLSearchParams(query);
      asked.set('budget', String(budget));
      await page.goto(`${origin}${path}?${asked}`);
      await note.waitFor();
      assert.match(await note.textContent(), /^Read \d[\d.]* KiB of \d[\d.]* KiB: /);
      await accessible(page, `partial ${path}`);
      if (path !== '/') continue;
      // Numbers are of what was read, as the command prints them of the same captures.
      const of = async (path) => (await json('calls', path, '--overview', '--json'))[0];
      await page.getByText('Where the time goes').waitFor();
      assert.equal(await figure(page, 'calls'), String((await of(`${data}#1-2,1-3`)).calls));
      // The way on is in the address, and Back leads to the part again.
      await page.getByRole('button', { name: 'Read on' }).click();
      await note.waitFor({ state: 'detached' });
      assert.equal((await addressOf(page)).searchParams.get('budget'), String(2 * budget));
      const all = String((await of(data)).calls);
      await page.waitForFunction((all) => [...document.querySelectorAll('.figs.far > div')].some((one) => one.textContent.includes('calls') && one.querySelector('b').textContent === all), all);
      await page.goBack();
      await note.waitFor();
    }
    // Of a store that is large, Now asks for the newest part.
    await page.route('**/api/v1/services*', async (route) => {
      const answer = await (await route.fetch()).json();
      for (const row of answer.rows) row.bytes = 1e12;
      await route.fulfill({ json: answer });
    });
    const asked = page.waitForRequest((request) => request.url().includes('/calls/overview?svc='));
    await page.goto(origin);
    assert.equal(new URL((await asked).url()).searchParams.get('budget'), String(256 << 20));
    await page.unroute('**/api/v1/services*');
    await page.goto(`${origin}/calls?budget=${budget}`);
    // What a filter leaves is no part of what another budget reads.
    await page.goto(`${origin}/profiles?q=thread+%3D+main&budget=${budget}`);
    const left = page.locator('.left');
    await left.waitFor();
    assert.match(await left.textContent(), /wall of calls: [\d.]+ \w+\.$/);
    await page.goto(`${origin}/calls?budget=${budget}`);
    // Pages of the bar go on with the budget.
    const to = await page.getByRole('link', { name: 'Profiles' }).first().getAttribute('href');
    assert.equal(new URLSearchParams(to.split('?')[1]).get('budget'), String(budget));
  }, { origin });
});
