// Every page of the app: light and dark, wide and narrow, without serious faults and in the width of the window; and in Chinese.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessible, answered, browse, json, pushed, serve, traceloom } from './browser.mjs';

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
  await page.goto(address);
  await answered(page);
}

/** Texts and controls that lie on each other, and bars that hold more than is seen of them. */
const crowded = (page) => page.evaluate(() => {
  const clipped = (element, { left, top, right, bottom }) => {
    const box = { left, top, right, bottom };
    for (let around = element; around; around = around.parentElement) {
      const style = getComputedStyle(around);
      if (style.visibility === 'hidden' || style.clipPath !== 'none' || style.position === 'fixed' || style.position === 'sticky') return null;
      if (style.overflow === 'visible') continue;
      const frame = around.getBoundingClientRect();
      box.left = Math.max(box.left, frame.left);
      box.top = Math.max(box.top, frame.top);
      box.right = Math.min(box.right, frame.right);
      box.bottom = Math.min(box.bottom, frame.bottom);
    }
    return box.right - box.left > 2 && box.bottom - box.top > 2 ? box : null;
  };
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || node.parentElement.closest('[data-part], script, option, .ruler, .key')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = clipped(node.parentElement, rect);
      if (box) boxes.push({ ...box, node, text: node.data.trim().slice(0, 30) });
    }
  }
  const faults = [];
  for (const [at, one] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) {
      const [wide, high] = [Math.min(one.right, other.right) - Math.max(one.left, other.left), Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top)];
      // A text that is cut has boxes of what is shown and of all of it.
      if (one.node !== other.node && wide > 2 && high > 4) faults.push(`${one.text} on ${other.text}`);
    }
  }
  for (const bar of document.querySelectorAll('nav, .bar, [role=tablist]')) {
    if (bar.scrollWidth > bar.clientWidth + 1) faults.push(`${bar.className} holds ${bar.scrollWidth} px in ${bar.clientWidth}`);
  }
  return faults.slice(0, 5);
});

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
  /** What is wrong with a page as it is now: for who cannot see, hear or point, and in the width of the window. */
  const whole = async (page, address, what) => {
    await accessible(page, what);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than the window`);
  };
  const calls = ['/calls', `/calls?sel=${call.capture.id}/${call.capture.call}`];
  for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
    await browse(async (page) => {
      for (const address of pages) {
        await open(page, origin + address);
        // Each page is opened once: it follows the scheme and the width that are chosen while it is seen.
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          await whole(page, address, `${address}, ${colorScheme}, ${viewport.width}`);
        }
        if (viewport.width < 640) continue;
        // In windows of other widths nothing lies on its neighbour, and bars show all that they hold.
        for (const width of [1000, 1920]) {
          const what = `${address}, ${width}`;
          await page.setViewportSize({ ...viewport, width });
          await answered(page);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than the window`);
          assert.deepEqual(await crowded(page), [], what);
          if (!calls.includes(address)) continue;
          // What a call did has room beside the pane as well.
          await page.locator('tr[data-row]').first().waitFor();
          const [column, list] = [await page.locator('th', { hasText: 'what' }).boundingBox(), await page.locator('.list').boundingBox()];
          assert.ok(column.width >= 200 && column.x + column.width <= list.x + list.width + 1, `${what}: what a call did has ${column.width} px`);
        }
        await page.setViewportSize(viewport);
      }
    }, { origin, asked: 400, viewport, hasTouch: viewport.width < 640 });
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
