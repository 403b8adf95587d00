// The flame graph's page shows what `top` and `tree` print, by mouse, by keyboard and from a link.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, addressOf, browse, file, json, painted, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
traceloom('flame', shop, '-o', file('flame.html'));
const [top] = json('top', '--json', shop);
const [tree] = json('tree', '--json', '--min-percent', '0', shop);
const [inverted] = json('tree', '--json', '--bottom-up', '--min-percent', '0', shop);
const [kinds] = json('top', '--hotspots', '--json', shop);

/** What a page says of an amount, made by the page itself of the program's number. */
const amounts = (page, values) => page.evaluate((values) => values.map((value) => window.amountOf(value)), values);
const cells = (page, rows) => page.$$eval(rows, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));

await browse(async (page, open) => {
  await page.addInitScript(() => { window.amountOf = (value) => traceloom.amount('ns', value); });
  await open('flame.html');
  await accessible(page, 'graph');

  await page.click('.view-table');
  await accessible(page, 'functions');
  const expected = await amounts(page, top.functions.flatMap((row) => [row.self, row.total]));
  assert.deepEqual(
    (await cells(page, '.rows tbody tr')).map(([self, , total, , count, name]) => [self, total, count, name]),
    top.functions.map((row, i) => [expected[2 * i], expected[2 * i + 1], row.count.toLocaleString('en-US'), row.function]),
  );
  await page.click('.rows th:last-child button');
  const names = (await cells(page, '.rows tbody tr')).map((row) => row[5]);
  assert.deepEqual(names, [...names].sort());
  assert.equal(await page.getAttribute('.rows th:last-child', 'aria-sort'), 'ascending');

  // Classes, packages and libraries as `top --dimension` has them; Back brings the functions again.
  for (const dimension of ['class', 'package', 'library']) {
    await page.selectOption('.dimension', dimension);
    const [of] = json('top', '--json', '--dimension', dimension, shop);
    const sums = await amounts(page, of.functions.flatMap((row) => [row.self, row.total]));
    await page.click('.view-table');
    assert.deepEqual(
      (await cells(page, '.rows tbody tr')).map(([self, , total, , count, name]) => [self, total, count, name]),
      of.functions.map((row, i) => [sums[2 * i], sums[2 * i + 1], row.count.toLocaleString('en-US'), row.function]),
    );
  }
  await page.selectOption('.dimension', 'method');

  // The tree by keyboard alone: everything opened, row after row.
  const opened = async () => {
    await page.focus('.rows [tabindex="0"]');
    await page.keyboard.press('Home');
    for (let step = 0; step < 20; step++) {
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowDown');
    }
    // The other rows by the same keys, without the way through the browser for each.
    await page.evaluate(() => {
      const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      press('Home');
      for (let row = null; row !== document.activeElement;) {
        row = document.activeElement;
        if (row.ariaExpanded === 'false') press('ArrowRight');
        press('ArrowDown');
      }
    });
    return page.$$eval('.rows tbody tr', (rows) => rows.map((row) => [+row.ariaLevel - 1, row.cells[0].lastChild.data, row.cells[1].textContent, row.cells[3].textContent]));
  };
  await page.click('.view-tree');
  await accessible(page, 'tree');
  const shown = await opened();
  assert.equal(shown.length, tree.nodes.length);
  const sums = await amounts(page, tree.nodes.flatMap((node) => [node.total, node.self]));
  assert.deepEqual(
    shown.map(String).sort(),
    tree.nodes.map((node, i) => String([node.depth, node.function, sums[2 * i], sums[2 * i + 1]])).sort(),
  );

  // Upside down.
  await page.click('.inverted');
  const roots = await page.$$eval('.rows tr[aria-level="1"]', (rows) => rows.map((row) => [row.cells[0].lastChild.data, row.cells[1].textContent]));
  const leaves = inverted.nodes.filter((node) => node.depth === 0);
  const values = await amounts(page, leaves.map((node) => node.total));
  assert.deepEqual(roots.map(String).sort(), leaves.map((node, i) => String([node.function, values[i]])).sort());
  await page.click('.inverted');

  // A search counts what calls itself once.
  const words = 'Repository';
  await page.fill('.search', words);
  let total = 0, self = 0, frames = 0, within = Infinity;
  for (const node of tree.nodes) {
    if (node.depth <= within) within = Infinity;
    if (!node.function.includes(words)) continue;
    frames += 1;
    self += node.self;
    if (within === Infinity) { total += node.total; within = node.depth; }
  }
  const [all, own] = await amounts(page, [total, self]);
  const matched = await page.textContent('.matched');
  assert.ok(matched.startsWith(`matched: ${all} ${(total * 100 / tree.total).toFixed(2)} %, self ${own} `), matched);
  assert.ok(matched.endsWith(` ${frames} frames`), matched);

  // Kinds of work come to what the hot spots do.
  await page.fill('.search', '');
  const own_of = await amounts(page, kinds.categories.map((kind) => kind.self));
  assert.deepEqual(
    (await page.$$eval('.legend button', (buttons) => buttons.map((button) => [button.dataset.kind, button.querySelector('.n').textContent]))).sort(),
    kinds.categories.map((kind, i) => [kind.category ?? '', `${own_of[i]} · ${kind.self_percent.toFixed(2)} %`]).sort(),
  );

  // Callers and callees of what is pressed come to its total, and the function's row says the same.
  const busiest = top.functions.slice(0, 100).reduce((a, b) => b.total > a.total ? b : a);
  await page.click('.view-graph');
  await painted(page);
  await page.click(`.funcs button[title="${busiest.function}"]`);
  const [total_of, self_of] = await amounts(page, [busiest.total, busiest.self]);
  const heading = await page.textContent('.sandwich h2');
  assert.ok(heading.includes(`${total_of} · `) && heading.endsWith(`self ${self_of}, ${busiest.count} calls`), heading);
  // The menu hides a function: its time is its callers', and Back takes that back.
  const before = (await addressOf(page)).href;
  await page.focus('.view');
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', '.']) await page.keyboard.press(key);
  await accessible(page, 'menu');
  await page.click('.menu button:has-text("Hide")');
  assert.match(await page.textContent('.cuts'), /^hidden: .+ Percentages are of all: /);
  assert.notEqual((await addressOf(page)).href, before);
  await page.keyboard.press('u');
  assert.equal(await page.isHidden('.cuts'), true);
});

// A thread alone is what `top` says of it; a range of time is less of that, and Back brings it again.
await browse(async (page, open) => {
  await page.addInitScript(() => { window.amountOf = (value) => traceloom.amount('ns', value); });
  await open('flame.html');
  const threads = await page.$$eval('.threads option', (options) => options.slice(1).map((option) => [option.value, option.textContent.split(' · ')[0]]));
  assert.ok(threads.length > 3);
  const rows = async () => (await cells(page, '.rows tbody tr')).map(([self, , total, , count, name]) => String([self, total, count, name])).sort();
  await page.click('.view-table');
  for (const [value, name] of threads.slice(0, 3)) {
    await page.selectOption('.threads', value);
    const [of] = json('top', '--json', '--filter', `thread = "${name}"`, shop);
    const sums = await amounts(page, of.functions.flatMap((row) => [row.self, row.total]));
    const expected = of.functions.map((row, i) => String([sums[2 * i], sums[2 * i + 1], row.count.toLocaleString('en-US'), row.function]));
    assert.deepEqual(await rows(), expected.sort(), name);
    await page.waitForTimeout(600);
  }
  const whole = await rows();
  const strip = await page.locator('.strip').boundingBox();
  await page.mouse.move(strip.x + strip.width * 0.4, strip.y + 40);
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width * 0.6, strip.y + 40, { steps: 4 });
  await page.mouse.up();
  await accessible(page, 'range');
  assert.match(await page.textContent('.cuts'), /^only \d\d:\d\d:\d\d\.\d+ to \d\d:\d\d:\d\d\.\d+; only thread .+\. Percentages are of what is left/);
  assert.notDeepEqual(await rows(), whole);
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('.cuts').textContent.includes(' to '));
  assert.deepEqual(await rows(), whole);
});

// The stacks of a thread over time: what is told of a frame is a path of the tree, and a press shows it in the graph.
await browse(async (page, open) => {
  await open('flame.html');
  await page.click('.view-stacks');
  await accessible(page, 'stacks over time');
  // What is zoomed has a line above, which moves the chart.
  const box = () => page.locator('.stacks canvas').boundingBox();
  let chart = await box();
  const found = new Set();
  for (let x = 1; x < chart.width && found.size < 2; x += 3) {
    await page.mouse.move(chart.x + x, chart.y + 50);
    if (await page.isHidden('.tip')) continue;
    const told = await page.textContent('.tip');
    const node = tree.nodes.find((node) => node.depth === 1 && told.startsWith(node.function));
    assert.ok(node, told);
    assert.match(told, /on the stack\d\d:\d\d:\d\d/);
    found.add(node.function);
    if (found.size > 1) continue;
    await page.mouse.click(chart.x + x, chart.y + 50);
    assert.ok((await page.textContent('.told')).startsWith(`${node.function}: `));
    await page.click('.view-stacks');
    chart = await box();
  }
  assert.ok(found.size > 0);
  assert.equal(new URLSearchParams((await addressOf(page)).hash.slice(1)).get('v'), 'stacks');
  // `z` turns the strip's times, in the words of a chosen range as well.
  await page.focus('.strip');
  await page.keyboard.press('ArrowRight');
  const utc = await page.textContent('.cuts');
  await page.keyboard.press('z');
  const local = await page.textContent('.cuts');
  assert.equal(local, utc.replaceAll(/(\d\d):(\d\d)(:\d\d)/g, (_, hours, minutes, rest) => {
    const at = +hours * 60 + +minutes + 330;
    return `${String(Math.floor(at / 60) % 24).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}${rest}`;
  }));
}, { timezoneId: 'Asia/Kolkata' });

// Groups, apart and together.
traceloom('flame', shop, '--by', 'thread', '-o', file('by.html'));
const [groups] = json('tree', '--by', 'thread', '--json', '--min-percent', '0', shop);
await browse(async (page, open) => {
  await page.addInitScript(() => { window.amountOf = (value) => traceloom.amount('ns', value); });
  await open('by.html', '#v=tree');
  const roots = async (tree) => {
    const nodes = tree.nodes.filter((node) => node.depth === 0);
    const values = await amounts(page, nodes.map((node) => node.total));
    const shown = await page.$$eval('.rows tr[aria-level="1"]', (rows) => rows.map((row) => [row.cells[0].lastChild.data, row.cells[1].textContent, row.cells[5].textContent]));
    assert.deepEqual(shown.map(String).sort(), nodes.map((node, i) => String([node.function, values[i], node.count.toLocaleString('en-US')])).sort());
  };
  await roots(groups);
  // The page of functions has the same by threads, from what ran when.
  await open('flame.html', '#v=tree');
  await page.selectOption('.dimension', 'thread');
  await page.click('.view-tree');
  await roots(groups);
  assert.match(await page.textContent('.dimension option[value=line]'), /^line: no line is recorded$/);
  await open('by.html', '#v=tree');
  await page.click('.merged');
  await roots(tree);
  await page.click('.view-table');
  const rows = async () => (await cells(page, '.rows tbody tr')).map(([self, , , , count, name]) => [self, count, name]);
  const own = await amounts(page, top.functions.map((row) => row.self));
  const expected = top.functions.map((row, i) => [own[i], row.count.toLocaleString('en-US'), row.function]);
  assert.deepEqual((await rows()).map(String).sort(), expected.map(String).sort());
});

// Walking, copying, and a link to what is seen.
await browse(async (page, open) => {
  await open('flame.html');
  await page.evaluate(() => { window.copied = []; Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied.push(text); } } }); });
  await page.focus('.view');
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter', 'c', 'C']) await page.keyboard.press(key);
  const path = tree.nodes.slice(0, 3);
  assert.deepEqual(path.map((node) => node.depth), [0, 1, 2], 'the widest path leads down');
  const names = path.map((node) => node.function);
  assert.deepEqual(await page.evaluate(() => window.copied), [names.toReversed().join('\n'), `${names.join(';')} ${path[2].total}`]);
  await page.keyboard.press('b');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.keyboard.press('x');
  await page.fill('.search', 'Statement');
  const told = await page.textContent('.told'), where = await page.textContent('.path'), link = await addressOf(page);
  await page.goto('about:blank');
  await open('flame.html', link.hash);
  assert.equal(await page.textContent('.path'), where);
  assert.equal(await page.textContent('.told'), told);
  assert.equal(await page.inputValue('.search'), 'Statement');
  for (const button of ['inverted', 'turned']) assert.equal(await page.getAttribute(`.${button}`, 'aria-pressed'), 'true');
});

// Names that would end an element, a string or a line.
const hostile = ['</script><img src=x onerror=alert(1)>', '"\'&lt<!--', 'a\u2028b\u2029c', 'x]]>{{data}}%3B'];
writeFileSync(file('hostile.folded'), `${hostile.join(';')} 7\n${hostile[3]} 2\n`);
traceloom('flame', file('hostile.folded'), '-o', file('hostile.html'), '--title', '</title><script>alert(2)</script>');
await browse(async (page, open) => {
  await open('hostile.html');
  assert.equal(await page.title(), '</title><script>alert(2)</script>');
  await page.click('.view-table');
  const read = json('top', '--json', file('hostile.folded'))[0].functions.map((row) => row.function);
  assert.deepEqual((await cells(page, '.rows tbody tr')).map((row) => row[5]), read);
  assert.deepEqual([...read].sort(), [...hostile].sort());
  await page.keyboard.press('Escape');
  await page.click('.view-graph');
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  const { hash } = await addressOf(page), told = await page.textContent('.told');
  assert.ok(told.startsWith(hostile[3]), told);
  await page.goto('about:blank');
  await open('hostile.html', hash);
  assert.equal(await page.textContent('.told'), told);
});
