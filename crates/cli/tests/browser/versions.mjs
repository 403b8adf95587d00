// Versions of a service in comparison: what is offered is what senders said, and every number is one of `diff` and `top`.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, addressOf, browse, compare, comparedRows, file, json, number, sameFunctions, serve, traceloom } from './browser.mjs';

/** Own time of functions of each version, in the order in which they came. */
const VERSIONS = [
  ['1.9.0', 'main;db 4000000\nmain;render 9000000\n'],
  ['1.10.0', 'main;db 6000000\nmain;render 5000000\n'],
  ['1.10.1', 'main;db 1000000\nmain;render 5000000\nmain;cache 250000\n'],
];
const query = async (page) => (await addressOf(page)).searchParams;

/** The rows of a comparison are those of `diff`. */
async function differs(page, before, after) {
  const [diff] = json('diff', '--json', '--wide', before, after);
  const rows = await comparedRows(page);
  const shown = rows.map(({ name, before, after }) => [name, number(before), number(after)]).sort();
  assert.deepEqual(shown, diff.functions.map(({ function: name, before, after }) => [name, before.self, after.self]).sort());
}

/** The rows of one side alone are those of `top`. */
async function alone(page, path) {
  await page.locator('.fetched[aria-busy=false] .flame .recordings').waitFor({ state: 'hidden' });
  await sameFunctions(page, json('top', '--json', path), path);
}

await serve(async ({ origin, data }) => {
  for (const [version, stacks] of VERSIONS) {
    const recorded = file(`${version}.folded`);
    writeFileSync(recorded, stacks);
    const bundle = file(`bundle-${version}`);
    traceloom('convert', recorded, bundle, '--to', `datakit:service=shop,language=python,version=${version}`);
    traceloom('send', bundle, '--to', origin);
  }
  const captures = json('captures', 'ls', data, '--json');
  const [first, second, third] = VERSIONS.map(([version]) => {
    const ids = captures.filter((capture) => capture.version === version).map(({ id }) => id);
    assert.equal(ids.length, 1, version);
    return `${data}#${ids}`;
  });

  await browse(async (page) => {
    // The last two to come, until others are chosen.
    await page.goto(`${origin}/profiles?svc=shop`);
    await page.locator('.fetched[aria-busy=false] .flame').waitFor();
    await compare(page);
    await page.waitForURL(/base_version=1\.10\.0&version=1\.10\.1/);
    await differs(page, second, third);
    await accessible(page, 'a comparison of versions');
    const versions = page.getByRole('combobox', { name: 'Version' });
    const offered = await versions.evaluateAll((selects) => selects.map((select) => [...select.options].map(({ value }) => value)));
    assert.deepEqual(offered, Array(2).fill(['', '1.10.1', '1.10.0', '1.9.0']));
    await versions.first().selectOption('1.9.0');
    await page.waitForURL(/base_version=1\.9\.0/);
    await differs(page, first, third);

    // The address alone brings it back, and either side stands alone by a press.
    const address = (await addressOf(page)).href;
    await page.goto('about:blank');
    await page.goto(address);
    await differs(page, first, third);
    await page.getByRole('link', { name: 'Before alone' }).click();
    await alone(page, first);
    assert.deepEqual([(await query(page)).get('version'), (await query(page)).get('base_version')], ['1.9.0', null]);
    await page.goto(address);
    await page.getByRole('link', { name: 'After alone' }).click();
    await alone(page, third);
    assert.equal((await query(page)).get('version'), '1.10.1');
    // What is chosen stands in the bar, goes on to other pages, and is taken away by a press.
    await page.getByRole('button', { name: 'version 1.10.1' }).click();
    await alone(page, data);
    assert.equal((await query(page)).get('version'), null);
  }, { origin, viewport: { width: 1440, height: 900 } });
});
