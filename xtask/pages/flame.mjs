// Measures the flame graph's page: first drawing, and the answers to zooming and searching.
import { browse, drawn, promise, ROUNDS, tell } from './measure.mjs';
import { opened } from './opened.mjs';

const press = (key) => document.querySelector('.flame .view')
  .dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const search = (words) => {
  const field = document.querySelector('.flame .search');
  field.value = words;
  field.dispatchEvent(new Event('input', { bubbles: true }));
};

await browse(async (page, open) => {
  const times = { zoom: [], back: [], search: [], invert: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto('about:blank');
    await open('flame.html');
    for (let step = 0; step < 3 + round; step++) await page.evaluate(press, 'ArrowDown');
    times.zoom.push(await drawn(page, press, 'Enter'));
    times.back.push(await drawn(page, press, '0'));
    times.search.push(await drawn(page, search, 'hibernate'));
    await page.evaluate(search, '');
    times.invert.push(await drawn(page, press, 'b'));
    await page.evaluate(press, 'b');
  }
  const frames = await page.$eval('.flame script', (script) => traceloom.numbers(JSON.parse(script.textContent)[0].symbol).length);
  console.log(`flame graph of ${frames.toLocaleString('en-US')} frames`);
  const { first, busy } = await opened('flame.html', 'flame', ROUNDS);
  promise('first drawing, from the start of loading', first, 200);
  tell('processor time of the page\'s thread for that', busy);
  promise('zoom in', times.zoom, 50);
  promise('zoom out', times.back, 50);
  tell('bottom-up', times.invert);
  promise('search', times.search, 100);
});
