// Files of every format, dropped on the page: what is kept of each, and every number that it opens to, is what commands print.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { answered, browse, file, same, sameFunctions, serve, told, traceloom, visit } from './browser.mjs';

const [shop, ...given] = process.argv.slice(2);
const grouped = (number) => number.toLocaleString('en-US');

/** What a path opens to: tables of functions, and calls. */
async function opened(path) {
  const [tables, [calls]] = await Promise.all([told('top', '--json', '--wide', path), told('calls', '--overview', '--json', path)]);
  return { tables: tables.filter(({ functions }) => functions.length), calls };
}

/** The shop in every format that is written and read again; a folder is dropped as an archive. */
function written() {
  const formats = JSON.parse(traceloom('formats', '--json')).filter(({ write, lower }) => write && lower);
  assert.ok(formats.length > 15, `${formats.length} targets`);
  return formats.map(({ name, extensions }) => {
    const path = file(`shop-${name}.${extensions[0] ?? 'd'}`);
    const convert = (...more) => spawnSync(process.env.TRACELOOM_BINARY, ['convert', shop, path, '--to', name, ...more], { encoding: 'utf8' });
    let run = convert();
    // What holds samples alone gets the own time of calls.
    if (run.stderr.includes('--as-samples')) run = convert('--as-samples');
    assert.equal(run.status, 0, `${name}: ${run.stderr}`);
    if (!statSync(path).isDirectory()) return path;
    const tar = spawnSync('tar', ['-cf', `${path}.tar`, '-C', path, '.']);
    assert.equal(tar.status, 0);
    return `${path}.tar`;
  });
}

/** What converting a capture would lose, as the command says it; nothing where it cannot be converted. */
const losses = (capture, to) => told('convert', '--json', '--force', '-o', '/dev/null', '--to', to, capture);

/** Fails where the dialog of a capture says something else of a conversion than the command. Returns true if it can be converted. */
async function converts(page, lost, to, what) {
  const dialog = page.getByRole('dialog', { name: 'Convert' });
  const told = (await lost).at(-1);
  if (!told) {
    await dialog.locator('.note.bad').waitFor().catch((error) => assert.fail(`${what} to ${to}: ${error}`));
    return false;
  }
  await dialog.getByRole('link', { name: `Convert to ${to}` }).waitFor().catch((error) => assert.fail(`${what} to ${to}: ${error}`));
  const rows = await dialog.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const expected = [...told.lost, ...told.changed].map(({ count, kind, field, example }) => [grouped(count), kind.replaceAll('_', ' '), field || example]);
  assert.deepEqual(rows, expected, `${what} to ${to}`);
  return true;
}

/** Drops a file on the page, and returns the capture that it is kept as. */
async function dropped(page, path) {
  const name = basename(path);
  await page.evaluate(([name, content]) => {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    for (const type of ['dragover', 'drop']) document.querySelector('main').dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }, [name, readFileSync(path).toString('base64')]);
  const line = page.locator('.sent li', { hasText: `${name} is kept as` });
  await line.waitFor();
  return / is kept as (\S+)$/.exec((await line.textContent()).trim())[1];
}

await serve(async ({ origin, data }) => {
  const paths = [...given, ...written()];
  const compared = { functions: 0, calls: 0, records: 0, converted: 0, refused: 0 };
  // Each file is converted to another format, so that every target has its turn.
  const targets = (await (await fetch(`${origin}/api/v1/formats`)).json()).rows.map(({ name }) => name);
  await browse(async (page) => {
    await page.goto(`${origin}/captures`);
    for (const path of paths) {
      const what = basename(path);
      await page.locator('label.drop').waitFor();
      // It takes files a frame after it is drawn.
      await answered(page);
      const sending = opened(path);
      const id = await dropped(page, path);
      const capture = `${data}#${id}`;
      const to = targets[paths.indexOf(path) % targets.length];
      // The page reads as well as the commands.
      await visit(page, `/captures/${id}?to=${to}`);
      const [lost, keeping, listing] = [losses(capture, to), opened(capture), told('info', '--json', capture)];
      const longests = told('calls', '--json', '--sort=-duration', '-n=1', capture);
      const [sent, kept, [info]] = await Promise.all([sending, keeping, listing]);
      // Kept, it is what it was before.
      assert.deepEqual(kept.tables.map(({ functions, total }) => [functions, total]), sent.tables.map(({ functions, total }) => [functions, total]), what);
      assert.deepEqual(kept.calls, sent.calls, what);

      const pane = page.getByRole('complementary', { name: 'The capture' });
      const parts = pane.locator('section', { hasText: 'decoded' }).first().locator('tbody tr');
      await parts.first().waitFor().catch((error) => assert.fail(`${what}: ${error}`));
      for (const [at, part] of info.inputs.entries()) {
        const records = Object.entries(part.records ?? {}).map(([kind, count]) => `${grouped(count)} ${kind}`).join(', ');
        if (!records) continue;
        assert.equal((await parts.nth(at).locator('td').allTextContents())[1], records, `${what}, part ${at}`);
        compared.records++;
      }
      const isWritten = await converts(page, lost, to, what);
      compared[isWritten ? 'converted' : 'refused']++;
      if (kept.tables.length) {
        await visit(page, `/profiles?capture=${id}`);
        await page.waitForURL(/profiles/);
        await page.locator('.fetched[aria-busy=false] .flame').waitFor();
        await sameFunctions(page, kept.tables, what);
        compared.functions++;
      }
      if (kept.calls?.calls) {
        await visit(page, `/calls?capture=${id}&sort=-duration`);
        const said = page.getByText(new RegExp(`^${grouped(kept.calls.calls)} calls?, `)).first();
        await said.waitFor();
        same((await said.textContent()).split(', ').at(-1), kept.calls.total_ns, what);
        const [longest] = await longests;
        const row = page.locator('tr[data-row="0"]');
        await row.waitFor();
        same(await row.locator('td.bars').textContent(), longest.duration, what);
        compared.calls++;
      }
      await visit(page, '/captures');
    }
  }, { origin, asked: 422, viewport: { width: 1440, height: 1000 } });
  assert.ok(compared.functions > 30 && compared.calls > 10 && compared.records > 40 && compared.converted > 20, JSON.stringify(compared));
  console.log(`${paths.length} files: ${JSON.stringify(compared)}`);
});
