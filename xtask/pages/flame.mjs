// Measures the flame graph's page: first drawing, and the answers to zooming and searching.
import { browse, drawn, firstDrawn, promise, ROUNDS } from './measure.mjs';

const press = (key) => document.querySelector('.flame .view')
  .dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const search = (words) => {
  const field = document.querySelector('.flame .search');
  field.value = words;
  field.dispatchEvent(new Event('input', { bubbles: true }));
};

await browse(async (page, open) => {
  const times = { first: [], zoom: [], back: [], search: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto('about:blank');
    await open('flame.html');
    times.first.push(await firstDrawn(page, 'flame'));
    for (let step = 0; step < 3 + round; step++) await page.evaluate(press, 'ArrowDown');
    times.zoom.push(await drawn(page, press, 'Enter'));
    times.back.push(await drawn(page, press, '0'));
    times.search.push(await drawn(page, search, 'hibernate'));
    await page.evaluate(search, '');
  }
  const frames = await page.$eval('.flame script', (script) => JSON.parse(script.textContent).symbol.length);
  console.log(`flame graph of ${frames.toLocaleString('en-US')} frames`);
  promise('first drawing, from the start of loading', times.first, 200);
  promise('zoom in', times.zoom, 100);
  promise('zoom out', times.back, 100);
  promise('search', times.search, 100);
});
