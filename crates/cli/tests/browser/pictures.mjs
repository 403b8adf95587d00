// Pictures and pages of differences say of captures what `tree` and `diff` print, before and after clicks.
import assert from 'node:assert/strict';
import { browse, file, json, traceloom } from './browser.mjs';

const captures = process.argv.slice(2);
const cells = (page) => page.$$eval('.rows tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));

// Amounts are written by a page, as a page writes them.
traceloom('flame', captures[0], '-o', file('amounts.html'));

await browse(async (page, open) => {
  let frames = 0;
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
      for (const title of await titles()) {
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
    if (!diff) continue;
    await open('difference.html');
    await page.click('.view-table');
    const sign = (value, text) => value > 0 ? `+${text}` : text;
    const expected = new Map(diff.functions.map((row, i) => [row.function || '(no name)', [sign(row.self_change, diff.said[3 * i + 2]), diff.said[3 * i], diff.said[3 * i + 1]]]));
    for (const row of await cells(page)) {
      const [before, after] = row.length === 8 ? [row[3], row[4]] : [row[2], row[3]];
      assert.deepEqual([row[0], before, after], expected.get(row.at(-1)), `${capture} ${row.at(-1)}`);
      changes++;
    }
  }
  // Without a corpus there is the shop alone.
  const least = captures.length > 1 ? 1000 : 20;
  assert.ok(frames > least && changes > least, `${frames} frames, ${changes} changes`);
});
