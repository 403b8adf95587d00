// What is seen has an address, and Back leads to what was seen before; what is taken out says so and comes back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, browse, file, json, painted, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
for (const page of ['flame', 'timeline', 'report']) traceloom(page, shop, '-o', file(`${page}.html`));
traceloom('diff', shop, '--adjust', 'org.postgresql.jdbc.PgPreparedStatement.executeQuery*2', '-o', file('diff.html'));
const [tree] = json('tree', '--json', '--min-percent', '0', shop);
/** Asked of the page: what the browser says of its address comes later than that. */
const hashOf = (page) => page.evaluate(() => location.hash);
const state = async (page, key) => new URLSearchParams((await hashOf(page)).slice(1)).get(key);
const told = (page) => page.textContent('.told');
/** The middle of a row of the graph, at a share of its width. */
const spot = async (page, share, row) => {
  const view = await page.locator('.view').boundingBox();
  return [view.x + view.width * share, view.y + 20 * row + 10];
};

await browse(async (page, open) => {
  await open('flame.html');
  // A press selects, a second one zooms; Back zooms out, and a link has the selection.
  const root = tree.nodes.find((node) => node.depth === 0);
  const place = await spot(page, 0.1, 1);
  await page.mouse.click(...place);
  assert.ok((await told(page)).startsWith(`${root.function}: `));
  assert.deepEqual([await state(page, 'i'), await state(page, 'z')], [root.function, null]);
  await page.waitForTimeout(600);
  await page.mouse.click(...place);
  assert.deepEqual([await state(page, 'i'), await state(page, 'z')], [null, root.function]);
  assert.equal(await page.locator('.path button').count(), 1);
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('.path button'));
  assert.ok((await told(page)).startsWith(`${root.function}: `));
  assert.equal(await page.locator('.funcs tr.chosen').getAttribute('data-symbol'), await page.locator(`.funcs tr:has([title="${root.function}"])`).getAttribute('data-symbol'));

  // The menu key opens the menu at the frame; what is hidden is counted, and Undo brings it back.
  await page.focus('.view');
  await page.keyboard.press('Shift+F10');
  await accessible(page, 'menu');
  const menu = await page.locator('.menu').boundingBox();
  assert.ok(Math.abs(menu.y - place[1] - 10) < 4, `${menu.y} below ${place[1]}`);
  // A frame with a file and a line gives them to an editor.
  await page.evaluate(() => { Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async (text) => { window.copied = text; } } }); });
  await page.click('.menu button:has-text("Copy file and line")');
  assert.match(await page.evaluate(() => window.copied), new RegExp(`^${root.function.split('.').at(-2)}\\.java:\\d+$`));
  await page.keyboard.press('h');
  const frames = tree.nodes.filter((node) => node.function === root.function).length;
  assert.equal(await page.textContent('body > .toast span'), `Hidden: ${frames} frame${frames === 1 ? '' : 's'}`);
  // It leaves after some seconds, unless the pointer is on it.
  await page.hover('body > .toast');
  await accessible(page, 'toast');
  assert.match(await page.textContent('.cuts'), new RegExp(`^hidden: ${root.function}`));
  await page.click('.toast button');
  assert.equal(await page.isHidden('.toast'), true);
  assert.equal(await page.isHidden('.cuts'), true);

  // The legend keeps its order when it holds less, and says what is not there; a kind that is hidden comes back.
  const legend = () => page.$$eval('.legend button', (buttons) => buttons.map((button) => [button.dataset.kind, button.disabled]));
  const whole = await legend();
  assert.ok(whole.every(([, isOff]) => !isOff));
  await page.selectOption('.threads', { index: 1 });
  const [name] = (await page.locator('.threads option').nth(1).textContent()).split(' · ');
  const [kinds] = json('top', '--hotspots', '--json', '--filter', `thread = "${name}"`, shop);
  const occurring = new Set(kinds.categories.filter(({ self }) => self > 0).map(({ category }) => category ?? ''));
  assert.deepEqual(await legend(), whole.map(([kind]) => [kind, !occurring.has(kind)]));
  assert.ok(occurring.size < whole.length);
  await page.selectOption('.threads', '-1');
  await page.click('.legend button[data-kind=network]', { modifiers: ['Alt'] });
  assert.equal(await page.isDisabled('.legend button[data-kind=network]'), true);
  await page.click('.toast button');
  assert.equal(await page.isDisabled('.legend button[data-kind=network]'), false);
  await page.click('.legend button[data-kind=db]');
  assert.equal(await state(page, 'k'), 'db');

  // How functions are sorted is in the address, too.
  await page.click('.view-table');
  await page.click('.rows th:nth-child(3) button');
  const totals = await page.$$eval('.rows tbody tr', (rows) => rows.slice(0, 5).map((row) => row.cells[5].textContent));
  const hash = await hashOf(page);
  await page.goto('about:blank');
  await open('flame.html', hash);
  assert.deepEqual(await page.$$eval('.rows tbody tr', (rows) => rows.slice(0, 5).map((row) => row.cells[5].textContent)), totals);
  assert.equal(await page.getAttribute('.legend button[data-kind=db]', 'aria-pressed'), 'true');
  await page.keyboard.press('j');
  assert.equal(await page.evaluate(() => document.activeElement.closest('tr')?.rowIndex), 1);

  // The link of the head is what is seen.
  await page.evaluate(() => { Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }); });
  await page.click('header .copy-link');
  assert.equal(await page.textContent('.toast span'), 'Link copied');
  assert.equal(await page.evaluate(() => window.copied === location.href), true);
});

// A range stays from dimension to dimension: by threads it comes to the same.
await browse(async (page, open) => {
  await open('flame.html');
  await page.focus('.strip');
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight']) await page.keyboard.press(key);
  const words = await page.textContent('.cuts');
  assert.match(words, /^only .* Percentages are of what is left of time and threads: /);
  for (const dimension of ['class', 'thread']) {
    await page.selectOption('.dimension', dimension);
    assert.equal(await page.isVisible('.strip'), true);
    assert.equal(await page.textContent('.cuts'), words, dimension);
  }
  // The roots are the threads of the range, and one thread alone is one root.
  const roots = async () => {
    await page.click('.view-tree');
    return page.$$eval('.rows tr[aria-level="1"]', (rows) => rows.map((row) => row.cells[0].lastChild.data));
  };
  const some = await roots();
  const all = (await page.$$eval('.threads option', (options) => options.slice(1).map((option) => option.textContent.split(' · ')[0])));
  assert.ok(some.length > 0 && some.length < all.length && some.every((name) => all.includes(name)), `${some}`);
  await page.selectOption('.threads', { label: await page.locator(`.threads option:has-text("${some[0]} ·")`).first().textContent() });
  assert.deepEqual(await roots(), [some[0]]);
});

// What the wheel shows of a graph has an address; the row of the whole is its map, on which the window is dragged.
await browse(async (page, open) => {
  await open('flame.html');
  const looked = async () => (await state(page, 'g'))?.split('_').map(Number);
  const [x, y] = await spot(page, 0.5, 3);
  const { x: left, width } = await page.locator('.view').boundingBox();
  await page.mouse.move(x, y);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -600);
  await page.keyboard.up('Control');
  await page.waitForFunction(() => location.hash.includes('g='));
  assert.deepEqual(await looked(), [0.4375, 0.125]);
  const drag = async (from, to) => {
    const before = await hashOf(page);
    await page.mouse.move(left + width * from, y - 60);
    await page.mouse.down();
    // At once: moves of which one rests are steps of their own for Back.
    await page.mouse.move(left + width * to, y - 60);
    await page.mouse.up();
    await page.waitForFunction((before) => location.hash !== before, before);
    await page.waitForTimeout(600);
  };
  const isNear = (shown, wanted) => assert.ok(shown.every((one, at) => Math.abs(one - wanted[at]) < 0.002), `${shown}`);
  await drag(0.5, 0.6);
  isNear(await looked(), [0.5375, 0.125]);
  await drag(0.1, 0.3);
  isNear(await looked(), [0.1, 0.2]);
  // The frame under the pointer is marked.
  await page.mouse.move(0, 0);
  await painted(page);
  const shown = await page.$eval('.view canvas', (canvas) => canvas.toDataURL());
  const hash = await hashOf(page);
  await page.goBack();
  await page.waitForFunction((hash) => location.hash !== hash, hash);
  isNear(await looked(), [0.5375, 0.125]);
  await page.goto('about:blank');
  await open('flame.html', hash);
  await page.mouse.move(0, 0);
  await page.waitForFunction((shown) => document.querySelector('.view canvas').toDataURL() === shown, shown);
  // A press on the row shows the whole again.
  await page.mouse.click(left + width * 0.9, y - 60);
  assert.equal(await looked(), undefined);
});

// What is too narrow to be drawn, even together, is counted; and a frame that has a place gives it to an editor.
writeFileSync(file('narrow.folded'), 'main;wide 1000000\nmain;a;b 2\nmain;c 3\n');
traceloom('flame', file('narrow.folded'), '-o', file('narrow.html'));
await browse(async (page, open) => {
  await open('narrow.html');
  await painted(page);
  assert.equal(await page.textContent('.details .beyond'), '2 frames too narrow to be drawn, together 5');
  // On paper the address is said once, without folders.
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.textContent('.printed'), 'narrow.html');
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  await page.fill('.search', 'wi de');
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.textContent('.printed'), 'narrow.html#s=wi de');
});

// A tip waits for the pointer to rest, is never under it, and goes with a key and with the wheel.
await browse(async (page, open) => {
  await open('flame.html');
  const tip = page.locator('.flame .tip');
  for (const [share, row] of [[0.1, 1], [0.95, 2], [0.5, 3]]) {
    const [x, y] = await spot(page, share, row);
    await page.mouse.move(x, y);
    await tip.waitFor();
    const { x: left, y: top, width, height } = await tip.boundingBox();
    assert.ok(x < left || x > left + width || y < top || y > top + height, `${x}, ${y}`);
    assert.ok(left >= 0 && left + width <= 1280);
    if (row === 1) await page.keyboard.press('Shift');
    else await page.mouse.wheel(0, 1);
    await tip.waitFor({ state: 'hidden' });
  }
});

// The timeline: Back undoes a zoom, and order, open tracks, table and what stands out are in the address.
await browse(async (page, open) => {
  await open('timeline.html');
  const drawing = async () => {
    await painted(page);
    return page.$eval('.timeline .view canvas', (canvas) => canvas.toDataURL());
  };
  const first = await drawing();
  // At once: what rests between two keys is a step of its own for Back.
  await page.$eval('.timeline .view', (view) => {
    view.focus();
    for (let step = 0; step < 6; step++) view.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true, cancelable: true }));
  });
  await page.waitForFunction(() => location.hash.includes('v='));
  assert.notEqual(await drawing(), first);
  await page.goBack();
  await page.waitForFunction(() => location.hash === '');
  await page.waitForFunction((first) => document.querySelector('.timeline .view canvas').toDataURL() === first, first);

  await page.selectOption('.order', 'name');
  await page.click('.legend button:has-text("Database")');
  await page.waitForFunction(() => /o=name/.test(location.hash) && /k=db/.test(location.hash));
  const ordered = await drawing();
  assert.notEqual(ordered, first);
  const hash = await hashOf(page);
  await page.goto('about:blank');
  await open('timeline.html', hash);
  assert.equal(await page.inputValue('.order'), 'name');
  assert.equal(await page.getAttribute('.legend button:has-text("Database")', 'aria-pressed'), 'true');
  await page.waitForFunction((ordered) => document.querySelector('.timeline .view canvas').toDataURL() === ordered, ordered);
  await page.focus('.timeline .view');
  await page.keyboard.press('v');
  await page.waitForFunction(() => location.hash.includes('tb='));
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('.timeline .rows').hidden);
  await page.keyboard.press('t');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.keyboard.press('?');
  assert.equal(await page.isVisible('.timeline .keys'), true);
  await accessible(page, 'keys');
});

// A report has keys of its own; which calls are open is in the address.
await browse(async (page, open) => {
  await open('report.html', '#open=2.3');
  const opened = () => page.$$eval('td > details', (all) => all.flatMap((one, at) => (one.open ? [at + 1] : [])));
  assert.deepEqual(await opened(), [2, 3]);
  await page.click('td > details summary >> nth=0');
  await page.waitForFunction(() => location.hash === '#open=1.2.3');
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll('td > details[open]').length === 2);
  await page.goto('about:blank');
  await open('report.html');
  await page.keyboard.press('?');
  assert.equal(await page.isVisible('.page-keys'), true);
  await accessible(page, 'keys of the report');
  await page.keyboard.press('Escape');
  assert.equal(await page.isHidden('.page-keys'), true);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => [...document.querySelectorAll('td > details')].findIndex((one) => one.open)), 1);
});

// Small windows, or large ones at 200 %, lose nothing to the side.
for (const viewport of [{ width: 320, height: 640 }, { width: 720, height: 450 }, { width: 1000, height: 700 }]) {
  await browse(async (page, open) => {
    for (const name of ['flame', 'timeline', 'report']) {
      await open(`${name}.html`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} at ${viewport.width}`);
      const outside = await page.$$eval('.bar > *, .view, .strip, .details', (all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.className));
      assert.deepEqual(outside, [], `${name} at ${viewport.width}`);
      const pressed = await page.$$eval('[data-part] > :is(.bar, .legend, .finding)', (all) => all.filter((one) => one.scrollHeight > one.clientHeight + 1).map((one) => one.className));
      assert.deepEqual(pressed, [], `${name} at ${viewport.width}`);
    }
  }, { viewport });
}

// Light and dark, at a desk and on a phone, no page has a serious fault.
for (const colorScheme of ['light', 'dark']) {
  for (const width of [390, 1280]) {
    await browse(async (page, open) => {
      for (const name of ['flame', 'timeline', 'report', 'diff']) {
        await open(`${name}.html`);
        await accessible(page, `${name}, ${colorScheme}, ${width}`);
      }
    }, { colorScheme, viewport: { width, height: 844 } });
  }
}
