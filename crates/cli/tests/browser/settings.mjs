// Who may look: login, tokens and settings; and what every page has: the palette, keys, theme, zone, back and forward.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { accessible, addressOf, answered, browse, file, json, serve, traceloom } from './browser.mjs';

const [shop] = process.argv.slice(2);
const status = async (origin, token) => (await fetch(`${origin}/api/v1/captures`, { headers: token ? { authorization: `Bearer ${token}` } : {} })).status;
const token = (data, name, ...rights) => /tl_[0-9a-f]+/.exec(traceloom('token', 'add', name, '--data', data, ...rights.flatMap((right) => ['--right', right])))[0];

// Kinds of work of the operator's own, and filters for everybody.
const rules = `shop com.acme.\n${traceloom('top', '--categories', 'default')}`;
writeFileSync(file('kinds.txt'), rules);
writeFileSync(file('filters.txt'), '# of the shop\nlong ones = duration > 1s\nof the shop = com.acme\n');

await serve(async ({ cdt, origin, data }) => {
  const [reader, writer] = [token(data, 'reader', 'read'), token(data, 'writer', 'read', 'write', 'upload')];
  traceloom('send', shop, '--to', cdt, '--service', 'shop');
  assert.equal(await status(origin), 401);

  await browse(async (page) => {
    // Without a token there is a page that asks for one, and leads back.
    await page.goto(`${origin}/settings`);
    await page.getByText('This collector asks for a token.').waitFor();
    await accessible(page, 'Login');
    await page.getByLabel('Token').fill('tl_0000');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('Not accepted').waitFor();
    await page.getByLabel('Token').fill(reader);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();

    // Who may read sees how it is set, and changes nothing.
    await answered(page);
    const { settings, tokens } = await (await page.request.get(`${origin}/api/v1/settings`)).json();
    for (const [name, value] of Object.entries(settings)) {
      const written = typeof value === 'string' && !value.startsWith('[') ? `"${value}"` : String(value);
      assert.ok((await page.locator('pre:not(.long)').textContent()).split('\n').includes(`${name} = ${written}`), name);
    }
    assert.deepEqual(await page.locator('section', { hasText: 'Tokens' }).locator('tbody .s').allTextContents(), tokens.map(({ name }) => name));
    await page.getByText('The token may read, not write.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0);
    await page.getByText('Captures are kept 7 days').waitFor();
    await page.getByText('set by the operator').first().waitFor();
    // TPTP's binary form is asked for where somebody wants it.
    const binary = page.getByRole('checkbox', { name: 'Binary Transfer Format' });
    assert.equal(await binary.isChecked(), false);
    assert.equal(await page.getByText('--binary-transfer').count(), 0);
    await binary.check();
    await page.getByText('--binary-transfer').waitFor();
    await accessible(page, 'Settings, read');
    // A request that a page of another site made has the cookie, and not the secret.
    const forged = await page.evaluate(async () => (await fetch('/api/v1/tokens/writer', { method: 'DELETE' })).status);
    assert.equal(forged, 403);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('This collector asks for a token.').waitFor();

    // Who may write makes a token, which works until it is revoked.
    await page.getByLabel('Token').fill(writer);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('Where the time goes').waitFor();
    await page.getByRole('link', { name: 'Settings' }).first().click();
    await page.getByLabel('Name of the token').fill('guest');
    await page.getByRole('button', { name: 'Make a token' }).click();
    await page.getByText('The token of guest is shown once').waitFor();
    const made = (await page.locator('.cmd code', { hasText: /^tl_/ }).textContent()).trim();
    assert.equal(await status(origin, made), 200);
    await accessible(page, 'Settings, write');
    await page.getByRole('row', { name: /^guest/ }).getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /^guest/ }).waitFor({ state: 'hidden' });
    assert.equal(await status(origin, made), 401);
    assert.equal(traceloom('token', 'ls', '--data', data).includes('guest'), false);

    // What pages go by: the operator's files are shown as they are, and answers go by them; this browser has filters of its own.
    await page.goto(`${origin}/settings`);
    const kinds = page.locator('section', { has: page.getByRole('heading', { name: 'Kinds of work' }) });
    assert.equal(await kinds.locator('pre').textContent(), rules.trim());
    const own = json('top', '--hotspots', '--categories', file('kinds.txt'), data, '--json');
    const told = (await (await page.request.get(`${origin}/api/v1/hotspots`)).json()).rows;
    assert.deepEqual(told, own);
    assert.ok(JSON.stringify(own).includes('"shop"'));
    const filters = page.locator('section', { has: page.getByRole('heading', { name: 'Filters' }) });
    assert.deepEqual(await filters.locator('tbody code').allTextContents(), ['duration > 1s', 'com.acme']);
    await filters.getByRole('textbox').fill('short = duration < 1ms\nbroken = duration >');
    await filters.getByRole('button', { name: 'Save' }).click();
    await filters.getByText(/^broken: /).waitFor();
    await filters.getByRole('textbox').fill('short = duration < 1ms');
    await filters.getByRole('button', { name: 'Save' }).click();
    await filters.getByText('Saved.').waitFor();
    await page.reload();
    assert.equal(await filters.getByRole('textbox').inputValue(), 'short = duration < 1ms');
    await accessible(page, 'Settings, filters');
    await filters.getByRole('link', { name: 'long ones' }).click();
    const long = json('calls', data, '--overview', '--json', '--filter', 'duration > 1s')[0];
    await page.getByText(`${long.calls} calls, `).waitFor();

    // Files are sent in the name of the session, once the page knows that.
    await page.goto(`${origin}/captures`);
    await answered(page);
    await page.locator('input[type=file]').first().setInputFiles({ name: 'a.folded', mimeType: 'text/plain', buffer: Buffer.from('main 1\n') });
    await page.getByText('a.folded is kept').waitFor();

    // The palette: a page, a service, a call by its id.
    const go = async (words, name) => {
      // The page takes keys a frame after it is drawn; the palette knows services and filters when it has its answers.
      await answered(page);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Go to' }).waitFor();
      await answered(page);
      await page.getByRole('combobox', { name: 'Go to' }).fill(words);
      // Functions come later and may take the place of nothing found: it is what Enter takes once it is selected.
      await page.getByRole('option', { name, selected: true }).waitFor();
      await page.keyboard.press('Enter');
    };
    await go('slow', 'Slowest calls');
    await page.waitForURL(/sort=-duration/);
    for (const [name, filter] of [['of the shop', 'com.acme'], ['short', 'duration < 1ms']]) {
      await go(name, name);
      await page.waitForURL((url) => url.searchParams.get('q') === filter);
    }
    await go('shop', /^shop/);
    await page.waitForURL(/svc=shop/);
    const [call] = json('calls', data, '--json', '--sort=-duration');
    await go(`${call.capture.id}:${call.capture.call}`, call.capture.call);
    await page.getByRole('heading', { level: 1, name: call.title }).waitFor();
    await page.goBack();
    await page.waitForURL(/svc=shop/);
    await page.goForward();
    await page.waitForURL(/\/call\//);
    // A function of what the page shows: the flame graph in which it is marked.
    await page.goto(`${origin}/calls?svc=shop`);
    const [{ functions: [{ function: busiest }] }] = json('top', data, '--json', '-n=1');
    await go(busiest.slice(-12), busiest);
    await page.waitForURL((url) => url.pathname === '/profiles' && url.searchParams.get('svc') === 'shop');
    assert.equal(new URLSearchParams((await addressOf(page)).hash.slice(1)).get('s'), busiest);
    await page.locator('.fetched[aria-busy=false]').waitFor();
    assert.equal(await page.locator('.fetched input[type=search], .fetched .field input').first().inputValue(), busiest);
    await page.goBack();
    await page.waitForURL(/\/calls\?svc=shop/);
    await answered(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await accessible(page, 'Palette');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor({ state: 'detached' });

    // Keys.
    await page.locator('body').press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await accessible(page, 'Keys');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
    await page.locator('body').press('g');
    await page.keyboard.press('a');
    await page.waitForURL(`${origin}/captures`);
    // What is chosen goes along by keys as well.
    await page.goto(`${origin}/calls?svc=shop&from=2026-03-14T00%3A00%3A00Z`);
    await answered(page);
    for (const [key, path] of [['p', '/profiles'], ['m', '/memory'], ['c', '/calls']]) {
      await page.locator('body').press('g');
      await page.keyboard.press(key);
      await page.waitForURL(`${origin}${path}?svc=shop&from=2026-03-14T00%3A00%3A00Z`);
    }
    await page.goto(`${origin}/captures`);
    await answered(page);
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    await page.locator('body').press('t');
    const dark = await theme();
    assert.ok(dark === 'dark' || dark === 'light');
    await page.reload();
    assert.equal(await theme(), dark);
    await accessible(page, `Captures, ${dark}`);
    // The zone of who reads: the same moment, five hours and a half later.
    await page.goto(`${origin}/calls?svc=shop`);
    const first = () => page.locator('tr[data-row="0"] td').first().textContent();
    await page.locator('tr[data-row="0"]').waitFor();
    const utc = await first();
    await page.locator('body').press('z');
    await page.getByRole('button', { name: 'Local' }).waitFor();
    const minutes = (text) => Number(text.slice(-12, -10)) * 60 + Number(text.slice(-9, -7));
    assert.equal((minutes(await first()) - minutes(utc) + 1440) % 1440, 330);
    await accessible(page, 'Calls, local');
  }, { origin, asked: [400, 401, 403], timezoneId: 'Asia/Kolkata', viewport: { width: 1440, height: 900 } });
}, '--require-token', '--keep-days', '7', '--tptp', '127.0.0.1:0', '--categories', file('kinds.txt'), '--filters', file('filters.txt'));
