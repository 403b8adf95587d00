// The first walk: from a machine with nothing on it to the slow statement of the demonstration, counted in presses.
import assert from 'node:assert/strict';
import { answered, browse, decoded, json, serve } from './browser.mjs';

/** Presses that the walk may take. */
const MOST = 4;

await serve(async ({ origin, data }) => {
  await browse(async (page) => {
    let presses = 0;
    const press = async (locator) => {
      await locator.click();
      presses += 1;
    };
    await page.goto(`${origin}/`);
    // It arrives while somebody looks, and nothing is pressed for it.
    await page.getByText('Where the time goes').waitFor({ timeout: 120_000 });
    await decoded(data, 2);
    // The statement that one call spent most of its time in, as the command finds it.
    const [worst] = json('calls', data, '--json', '--sort=-duration')
      .filter(({ capture }) => capture)
      .slice(0, 8)
      .map((row) => ({ row, sql: json('call', '--json', `${data}#${row.capture.id}`, row.capture.call)[0].sql }))
      .flatMap(({ row, sql }) => sql.filter(({ times }) => times === 1).map((statement) => ({ row, ...statement })))
      .sort((a, b) => b.time_ns - a.time_ns);
    assert.ok(worst.time_ns > 1e9, 'the demonstration has a slow statement');
    await press(page.getByRole('link', { name: /calls over 1 s/ }));
    await answered(page);
    await press(page.locator('tr[data-row]', { hasText: worst.row.title.replace(/^[A-Z]+ /, '') }).first());
    const pane = page.getByRole('complementary', { name: 'The call' });
    await pane.getByText('most time in SQL').waitFor();
    const shown = await pane.locator('.sql pre').first().textContent();
    assert.equal(shown.trim(), worst.sql.trim());
    assert.ok(presses <= MOST, `${presses} presses`);
    console.log(`from nothing to the slow statement in ${presses} presses`);
  }, { origin, viewport: { width: 1440, height: 900 } });
}, '--demo');
