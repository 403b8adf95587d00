// Pictures and pages of differences say of captures what `tree` and `diff` print, before and after clicks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { addressOf, browse, file, json, traceloom } from './browser.mjs';

const captures = process.argv.slice(2);
const titleOf = new Map(JSON.parse(readFileSync(new URL('../../../../ui/examples/kinds.json', import.meta.url))));
const unnamed = ['Own code', 'Runtime', 'Native', 'Unknown', 'Libraries'];
const kinds = new Set([...titleOf.values(), ...unnamed]);
const cells = (page) => page.$$eval('.rows tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));

// Amounts are written by a page, as a page writes them.
traceloom('flame', captures[0], '-o', file('amounts.html'));

await browse(async (page, open) => {
  let frames = 0;
  let lit = 0;
  let changes = 0;
  for (const capture of captures) {
    await open('amounts.html');
    const [tree] = json('tree', '--json', '--min-percent', '0', capture);
    const unit = { ns: 'ns', bytes: 'bytes' }[tree.unit] ?? 'count';
    const word = unit !== 'count' || tree.unit === 'count' ? '' : tree.unit;
    const amounts = (values) => page.evaluate(([unit, values, word]) => values.map((value) => traceloom.amount(unit, value, word)), [unit, values, word]);
    const totals = await amounts(tree.nodes.map((node) => node.total));
    const selves = await amounts(tree.nodes.map((node) => node.self));
    const told = new Set(tree.nodes.map((node, i) => `${node.function}: ${totals[i]}${node.self === node.total ? '' : ` self ${selves[i]}`}`));
    const [busiest] = json('top', '--json', '--wide', '-n', '0', capture)[0].functions.filter(({ function: name, self }) => self > 1 && /^[\w.$]+$/.test(name));
    const [hotspots] = json('top', '--hotspots', '--json', capture);
    const own = hotspots.categories.filter(({ category, self }) => category !== null && self > 0);
    const said = await amounts(own.map(({ self }) => self));
    traceloom('flame', capture, '-o', file('capture.svg'), '--force');
    let diff;
    if (busiest) {
      const flags = ['diff', capture, '--adjust', `^${busiest.function.replaceAll(/[.$]/g, '\\$&')}$*0.5`];
      traceloom(...flags, '-o', file('difference.html'), '--force');
      [diff] = json(...flags, '--json', '--wide');
      diff.said = await amounts(diff.functions.flatMap((row) => [row.before.self, row.after.self, row.self_change]));
    }
    await open('capture.svg');
    const titles = () => page.$$eval('#frames > g:not(.rest):not(:first-child)', (groups) => groups.filter((group) => group.style.display !== 'none').map((group) => group.querySelector('title').textContent));
    const check = async () => {
      for (const described of await titles()) {
        const [, title, kind] = /^(.*); ([^;]+)$/s.exec(described) ?? [];
        assert.ok(kinds.has(kind), described);
        const self = /, (self [^,]*(?:,\d{3})*[^,]*)(?:,|$)/.exec(title)?.[1] ?? '';
        const [, name, total] = /^(.*): ([^:]*?)(?:, \d[\d.]* %.*)?$/s.exec(title) ?? [];
        assert.ok(told.has(`${name}: ${total}${self && ` ${self}`}`), `${capture}: ${title}`);
        frames++;
      }
    };
    await check();
    const groups = page.locator('#frames > g:not(.rest)');
    if (await groups.count() > 2) await groups.nth(2).click();
    await check();
    // The legend says what the hot spots do; a kind that is pressed leaves its own frames as they are.
    const legend = await page.$$eval('#kinds > g', (entries) => entries.map((entry) => [entry.querySelector('text').firstChild.data.trim(), entry.querySelector('tspan').textContent]));
    assert.deepEqual(
      legend.filter(([name]) => !unnamed.includes(name)).map(String).sort(),
      own.map(({ category, self_percent: percent }, i) => `${titleOf.get(category)},${said[i]} · ${percent.toFixed(2)} %`).sort(),
      capture,
    );
    const other = () => page.$$eval('#frames > .other', (groups) => groups.map((group) => group.dataset.k));
    assert.deepEqual(await other(), []);
    if (legend.length > 1) {
      const pressed = await page.getAttribute('#kinds > g:nth-child(2)', 'data-k');
      await page.click('#kinds > g:nth-child(2)');
      const all = await page.$$eval('#frames > g[data-k]', (groups) => groups.map((group) => group.dataset.k));
      assert.deepEqual(await other(), all.filter((kind) => kind !== pressed));
      assert.ok((await addressOf(page)).href.includes(`k=${pressed}`));
      const [drawn, dimmed] = await page.evaluate(() => [':not(.other)', '.other'].map((of) => getComputedStyle(document.querySelector(`#frames > g[data-k]${of} rect`) ?? document.body).opacity));
      assert.deepEqual([drawn, dimmed], ['1', '0.35']);
      await page.keyboard.press('2');
      assert.deepEqual(await other(), []);
    }
    lit += legend.length > 1;
    if (!diff) continue;
    await open('difference.html');
    await page.click('.view-table');
    const sign = (value, text) => value === 0 ? '0' : value > 0 ? `+${text}` : text;
    const expected = new Map(diff.functions.map((row, i) => [row.function || '(no name)', [sign(row.self_change, diff.said[3 * i + 2]), diff.said[3 * i], diff.said[3 * i + 1]]]));
    for (const row of await cells(page)) {
      const [before, after] = row.length === 8 ? [row[3], row[4]] : [row[2], row[3]];
      assert.deepEqual([row[0], before, after], expected.get(row.at(-1)), `${capture} ${row.at(-1)}`);
      changes++;
    }
  }
  // Without a corpus there is the shop alone.
  const least = captures.length > 1 ? 1000 : 20;
  assert.ok(frames > least && changes > least && lit > 0, `${frames} frames, ${changes} changes, ${lit} legends`);
});
