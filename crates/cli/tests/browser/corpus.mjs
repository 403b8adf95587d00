// Pages of captures say what the program prints, value by value, after the clicks of whoever looks at them.
import assert from 'node:assert/strict';
import { accessible, addressOf, browse, file, inTime, json, traceloom } from './browser.mjs';

/** Rows that are compared of each table; the page shows so many at once. */
const ROWS = 500;

const captures = process.argv.slice(2);
const cells = (page) => page.$$eval('.rows tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.querySelector('[title]')?.title ?? cell.textContent)));

/** The rows of a table of `top`, as its page writes them, and the same rows by name. */
async function expected(page, table) {
  const unit = { ns: 'ns', bytes: 'bytes' }[table.unit] ?? 'count';
  const name = unit !== 'count' || table.unit === 'count' ? '' : table.unit;
  const values = table.functions.flatMap((row) => [row.self, row.total]);
  const said = await page.evaluate(([unit, values, name]) => values.map((value) => traceloom.amount(unit, value, name)), [unit, values, name]);
  return new Map(table.functions.map((row, i) => [row.function || '(no name)', [said[2 * i], said[2 * i + 1], row.count.toLocaleString('en-US')]]));
}

/** The table of a value that the page has as a choice: those that come to zero are last, and which do differs by range. */
function tableOf(tables, values, value) {
  const titled = ({ event_type: event, measure }) => (event && event !== measure ? `${event} (${measure})` : measure);
  return tables.find((table) => titled(table) === value) ?? tables[values.indexOf(value)];
}

await browse(async (page, open) => {
  let compared = 0;
  let ranges = 0;
  let lines = 0;
  let rangesOfLines = 0;
  for (const [number, capture] of captures.entries()) {
    const name = `capture-${number}.html`;
    traceloom('flame', capture, '-o', file(name), '--wide');
    await open(name);
    // A table of each value.
    const tablesBy = {};
    const values = await page.$$eval('.flame .values option', (options) => options.map((option) => option.value));
    if (number < 3) await accessible(page, capture);
    for (const value of values) {
      let methods;
      // A choice of one is not shown.
      if (values.length > 1) await page.selectOption('.flame .values', value);
      for (const dimension of ['method', 'line', 'class']) {
        // What a page cannot show it says.
        const option = page.locator(`.flame .dimension option[value=${dimension}]`);
        if (await option.isDisabled()) {
          assert.match(await option.textContent(), /: (no line is recorded|too many frames)$/);
          continue;
        }
        await page.selectOption('.flame .dimension', dimension);
        lines += dimension === 'line' ? 1 : 0;
        await page.click('.flame .view-table');
        const tables = tablesBy[dimension] ??= json('top', '--json', '--wide', '--dimension', dimension, capture);
        const table = tableOf(tables, values, value);
        const rows = await cells(page);
        if (dimension === 'method') methods = table;
        if (dimension === 'line') {
          // The lines of a function come to what it does.
          const sums = new Map();
          for (const { function: name, self } of table.functions) {
            const of = name.replace(/:\d+$/, '');
            sums.set(of, (sums.get(of) ?? 0) + self);
          }
          for (const { function: name, self } of methods.functions) assert.equal(sums.get(name.replace(/:\d+$/, '')), self, `${capture} ${value} ${name}`);
        }
        assert.equal(rows.length, Math.min(table.functions.length, ROWS), `${capture} ${value} by ${dimension}`);
        const byName = await expected(page, table);
        for (const [self, , total, , count, name] of rows) {
          assert.deepEqual([self, total, count], byName.get(name), `${capture} ${value} ${name}`);
          compared++;
        }
      }
      // A range of samples is what `top` says of the same time.
      if (!await page.isVisible('.flame .strip')) continue;
      const [held] = await page.evaluate(() => JSON.parse(document.querySelector('.flame script').textContent));
      if (held.source !== 'samples' || !held.over_time?.unix) continue;
      // Lines have their own times.
      const hasLines = await page.locator('.flame .dimension option[value=line]').isEnabled();
      const dimension = hasLines ? 'line' : 'method';
      await page.selectOption('.flame .dimension', dimension);
      await page.focus('.flame .strip');
      for (const key of ['ArrowRight', 'ArrowRight', 'Shift+ArrowRight']) await page.keyboard.press(key);
      const [from, to] = new URLSearchParams((await addressOf(page)).hash.slice(1)).get('w').split('_');
      const inRange = json('top', '--json', '--wide', '--dimension', dimension, '--since', from, '--until', to, capture);
      const table = tableOf(inRange, values, value);
      await page.click('.flame .view-table');
      const byName = await expected(page, table);
      await inTime(async () => {
        const rows = await cells(page);
        assert.equal(rows.length, Math.min(table.functions.length, ROWS), `${capture} ${value} from ${from} to ${to}`);
        for (const [self, , total, , count, name] of rows) assert.deepEqual([self, total, count], byName.get(name), name);
      });
      if (hasLines) {
        // The same range by functions.
        await page.selectOption('.flame .dimension', 'method');
        const kept = new URLSearchParams((await page.evaluate(() => location.hash)).slice(1)).get('w');
        assert.equal(kept, `${from}_${to}`);
        rangesOfLines++;
      }
      ranges++;
      await page.focus('.flame .strip');
      await page.keyboard.press('Escape');
    }
  }
  assert.ok(compared > 1000, `${compared} rows`);
  assert.ok(lines > 1, `${lines} values by line`);
  assert.ok(ranges > 1 && rangesOfLines > 0, `${ranges} ranges, ${rangesOfLines} by line`);
});
