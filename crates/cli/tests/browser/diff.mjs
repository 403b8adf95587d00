// The page and the picture of a difference show what `diff` prints, by one measure for colour and percent.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, browse, file, json, traceloom } from './browser.mjs';

// A function that grew by a little, one that shrank by much, one that is new, one that is gone.
const odd = 'com.acme.Shop.before: 3, 100 % before';
writeFileSync(file('before.folded'), `main;work;parse 400\nmain;work;walk 500\nmain;${odd} 90\nmain;gone 10\n`);
writeFileSync(file('after.folded'), `main;work;parse 402\nmain;work;walk 380\nmain;${odd} 91\nmain;fresh 30\n`);
const inputs = [file('before.folded'), file('after.folded')];
const printed = traceloom('diff', ...inputs, '--wide', '-o', file('diff.html'));
traceloom('diff', ...inputs, '-o', file('diff.svg'));
const [told] = json('diff', '--json', ...inputs);
const heading = printed.split('\n')[0];

/** The measure: change of own values in percent of all before. */
const STEPS = ['d-f3', 'd-f2', 'd-f1', 'd-0', 'd-s1', 'd-s2', 'd-s3'];
const percent = (row) => (row.self_change * 100) / told.before.total;
const step = (percent) => 3 + Math.sign(percent) * [0.1, 0.5, 2].filter((from) => Math.abs(percent) >= from).length;
const sign = (value) => `${value > 0 ? '+' : ''}${value}`;

await browse(async (page, open) => {
  await open('diff.html');
  await accessible(page, 'difference');
  const about = await page.textContent('.about');
  for (const [side, when] of [[told.before, 'before'], [told.after, 'after']]) {
    assert.ok(heading.includes(`in ${side.count.toLocaleString('en-US')} ${when}`), heading);
    assert.ok(about.includes(`${side.count.toLocaleString('en-US')} ${when === 'before' ? 'samples before' : 'after'}`), about);
  }
  assert.match(await page.textContent('.finding'), /903\sinstead of 1,000, 9\.7\s% less$/);
  assert.match(await page.textContent('.legend'), /faster.*0\.1, 0\.5 and 2 % of all before/);

  // The table, row by row.
  await page.click('.view-table');
  await accessible(page, 'table of a difference');
  const rows = await page.$$eval('.rows tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));
  const expected = told.functions.map((row) => {
    const { before, after, self_change: change } = row;
    const grew = row.self_percent === null ? (after.self === 0 ? '-' : 'new') : after.self === 0 ? 'gone' : `${row.self_percent > 0 ? '+' : ''}${row.self_percent.toFixed(1)} %`;
    const chance = row.self_chance < 0.0001 ? '<0.0001' : row.self_chance.toFixed(4);
    return [sign(change), grew, chance, `${before.self}`, `${after.self}`, `${before.count}`, `${after.count}`, row.function];
  });
  assert.deepEqual(rows.map(String).sort(), expected.map(String).sort());
  assert.equal(rows[0][7], 'walk', 'the largest change first');

  // As wide as before, what is gone is seen, and the table is the same; Back is after again.
  assert.equal(await page.getAttribute('.of-after', 'aria-pressed'), 'true');
  assert.equal(await page.isVisible('.values'), false, 'one value');
  const roots = async () => {
    await page.click('.view-tree');
    return page.$$eval('.rows tr[aria-level="1"]', (rows) => rows.map((row) => row.cells[1].textContent));
  };
  assert.deepEqual(await roots(), [`${told.after.total}`]);
  await page.waitForTimeout(600);
  await page.click('.of-before');
  assert.deepEqual(await roots(), [told.before.total.toLocaleString('en-US')]);
  await accessible(page, 'as wide as before');
  await page.fill('.search', '^gone$');
  assert.match(await page.textContent('.matched'), /^matched: 10 /);
  await page.fill('.search', '');
  await page.click('.view-table');
  const same = await page.$$eval('.rows tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));
  assert.deepEqual(same.map(String).sort(), rows.map(String).sort());
  await page.click('.of-after');
  await page.click('.view-table');

  // The colour under the pointer is the step of the change that the tooltip tells.
  await page.click('.view-graph');
  const view = await page.locator('.view').boundingBox();
  for (const name of ['walk', 'parse', odd]) {
    await page.focus('.view');
    await page.evaluate((name) => { location.hash = `z=main;${name.includes('before') ? '' : 'work;'}${encodeURIComponent(name.replaceAll('%', '%25'))}`; }, name);
    await page.waitForFunction((name) => document.querySelector('.told').textContent.startsWith(`${name}: `), name);
    const row = told.functions.find((row) => row.function === name);
    const said = await page.textContent('.told');
    const share = percent(row).toFixed(2);
    assert.ok(said.includes(`change of self ${sign(row.self_change)}, ${percent(row) > 0 ? '+' : ''}${share} % of all before`), said);
    // It is painted with the next picture.
    await page.waitForFunction((token) => {
      const canvas = document.querySelector('.view canvas'), patch = document.createElement('i');
      patch.style.color = `var(--${token})`;
      document.body.append(patch);
      const numbers = getComputedStyle(patch).color.match(/\d+/g).slice(0, 3).join();
      patch.remove();
      // What is zoomed is the last row, near its right end, where no text stands.
      const rows = [...canvas.getContext('2d').getImageData(canvas.width - 40, 0, 1, canvas.height).data];
      return Array.from({ length: canvas.height }, (_, y) => rows.slice(4 * y, 4 * y + 3).join()).includes(numbers);
    }, STEPS[step(percent(row))]);
  }
  assert.ok(view.height > 60);
  // Upside down no change is known of a path, and the legend says so.
  await page.keyboard.press('0');
  await page.click('.inverted');
  assert.match(await page.textContent('.legend'), /here kinds of work are drawn/);
});

// The picture: labels are cut at the name's own end, and a search is of names alone.
await browse(async (page, open) => {
  await open('diff.svg');
  const labels = await page.$$eval('#frames > g text', (texts) => texts.map((text) => text.textContent));
  assert.ok(labels.some((text) => text.startsWith('before: 3, ')), labels.join('\n'));
  assert.ok(labels.includes('walk'));
  assert.ok((await page.textContent('#about')).includes('1,000 samples before, 903 after'));
  // What the colours mean can be read.
  const inks = await page.$$eval('#legend text, #title', (texts) => texts.map((text) => getComputedStyle(text).fill));
  assert.deepEqual([...new Set(inks)], [inks[0]]);
  await page.keyboard.press('/');
  await page.keyboard.type('before');
  assert.equal(await page.$$eval('.found', (found) => found.length), 1);
  await page.keyboard.press('Enter');
  assert.match(await page.textContent('#matched'), /1 frame$/);
  assert.equal(await page.getAttribute('svg', 'role'), 'img');
  assert.equal(await page.textContent('svg > title'), 'before.folded → after.folded');
});
