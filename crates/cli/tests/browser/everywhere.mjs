// Every page of the app: light and dark, wide and narrow, without serious faults and in the width of the window; and in Chinese.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessible, browse, json, pushed, serve, traceloom } from './browser.mjs';

const [shop, ...recordings] = process.argv.slice(2);
const table = (language) => {
  const source = readFileSync(new URL(`../../../../ui/src/app/texts/${language}.ts`, import.meta.url), 'utf8');
  return new Map([...source.matchAll(/^ {2}(?:"([^"]+)"|(\w+)):\s+"((?:[^"\\]|\\.)*)",$/gm)].map(([, quoted, plain, text]) => [quoted ?? plain, text]));
};
const [english, chinese] = ['en', 'zh'].map(table);
/** Texts that are another in Chinese; `upload` is a protocol as well. */
const untranslated = [...english].filter(([key, text]) => key !== 'right.upload' && chinese.get(key) !== text && !/[{}]/.test(text) && /[a-z]{2}/.test(text)).map(([, text]) => text);

/** Goes to a page, and waits until it has its answers. */
async function open(page, address) {
  await page.goto(address, { waitUntil: 'networkidle' });
  await page.waitForFunction(() => document.querySelector('h1') && !document.querySelector('[aria-busy=true]'));
}

await serve(async ({ cdt, origin, data }) => {
  // An empty store is a page of its own.
  for (const colorScheme of ['light', 'dark']) {
    await browse(async (page) => {
      await open(page, `${origin}/`);
      await accessible(page, `empty store, ${colorScheme}`);
    }, { origin, colorScheme, viewport: { width: 390, height: 844 } });
  }
  traceloom('send', shop, '--to', cdt, '--service', 'shop');
  for (const recording of recordings) pushed(recording, origin);
  const [call] = json('calls', data, '--json', '--sort=-duration');
  const here = `/call/${call.capture.id}/${call.capture.call}`;
  const views = ['', 'up', 'hot', 'flame', 'path', 'sql', 'parameters', 'exceptions', 'thread', 'trace'];
  const others = json('captures', 'ls', data, '--json').filter(({ id }) => id !== call.capture.id);
  const pages = [
    '/', '/calls', `/calls?sel=${call.capture.id}/${call.capture.call}`, '/calls?q=duration+%3E+1h', '/calls?q=nothing+%3E',
    ...views.map((view) => `${here}?view=${view}`),
    '/profiles', '/profiles?view=single', '/profiles?view=compare', `/profiles?view=compare&capture=${call.capture.id}&base=${call.capture.id}`,
    '/timeline', '/memory', '/memory?tab=monitors', '/memory?tab=gc', '/draw?view=report', '/draw?view=flame',
    '/captures', ...others.map(({ id }) => `/captures/${id}`), `/captures/${call.capture.id}?to=choose`, '/settings', '/login',
  ];
  for (const colorScheme of ['light', 'dark']) {
    for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
      await browse(async (page) => {
        for (const address of pages) {
          const what = `${address}, ${colorScheme}, ${viewport.width}`;
          await open(page, origin + address);
          await accessible(page, what);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than the window`);
        }
      }, { origin, asked: 400, colorScheme, viewport, hasTouch: viewport.width < 640 });
    }
  }

  // The browser's language, until another is chosen.
  await browse(async (page) => {
    for (const address of pages) {
      await open(page, origin + address);
      // Parts that are drawn as in files, and what was recorded, are in their own words.
      const texts = await page.evaluate(() => [...document.querySelectorAll('header *, h1, h2, h3, th, label, button, option, legend, caption, .note, .empty, [role=tab]')]
        .filter((element) => !element.closest('[data-part], [lang]:not(html)'))
        .flatMap((element) => [...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data.trim()).concat(element.ariaLabel ?? [], element.placeholder ?? [])));
      assert.deepEqual(texts.filter((text) => untranslated.includes(text)), [], address);
    }
    await open(page, `${origin}/calls`);
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh');
    const [overview] = json('calls', data, '--overview', '--json');
    await page.getByText(`${overview.calls.toLocaleString('en-US')} 次调用，`).waitFor();
    await accessible(page, 'Calls, Chinese');
    await open(page, `${origin}/settings`);
    await page.getByRole('heading', { level: 1, name: '设置' }).waitFor();
    await page.getByRole('combobox', { name: '语言' }).selectOption('en');
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Captures', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Captures' }).waitFor();
    await open(page, `${origin}/settings`);
    await page.getByRole('combobox', { name: 'Language' }).selectOption('');
    await page.getByRole('heading', { level: 1, name: '设置' }).waitFor();
  }, { origin, asked: 400, locale: 'zh-CN', viewport: { width: 1440, height: 900 } });
});
