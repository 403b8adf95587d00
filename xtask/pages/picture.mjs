// Measures the picture of a flame graph: how many frames it has, and the answers to zooming and searching.
import { browse, drawn, promise, ROUNDS } from './measure.mjs';

const press = (number) => document.querySelectorAll('#frames > g')[number].dispatchEvent(new MouseEvent('click', { bubbles: true }));
const search = (words) => {
  const field = document.querySelector('#field');
  field.value = words;
  field.dispatchEvent(new Event('input', { bubbles: true }));
};

await browse(async (page, open) => {
  await open('picture.svg');
  const groups = await page.$$eval('#frames > g', (groups) => groups.length);
  console.log(`picture of ${groups.toLocaleString('en-US')} frames`);
  if (groups > 8000) process.exitCode = 1;
  const times = { zoom: [], back: [], search: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.zoom.push(await drawn(page, press, 3 + round));
    times.back.push(await drawn(page, press, 0));
    await page.keyboard.press('/');
    times.search.push(await drawn(page, search, 'hibernate'));
    await page.keyboard.press('Escape');
  }
  promise('zoom in', times.zoom, 100);
  promise('zoom out', times.back, 100);
  promise('search', times.search, 100);
});
