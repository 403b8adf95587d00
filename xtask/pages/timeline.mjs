// Measures the timeline's page: first drawing, panning at several zooms, zooming, searching.
import { browse, drawn, promise, ROUNDS, tell } from './measure.mjs';
import { opened } from './opened.mjs';

const FRAMES = 60;
const press = (key) => document.querySelector('.timeline .view')
  .dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const search = (words) => {
  const field = document.querySelector('.timeline .search');
  field.value = words;
  field.dispatchEvent(new Event('input', { bubbles: true }));
};
// Moves a few pixels for each frame that the browser shows; the times between frames.
const pan = (page, frames) => page.evaluate(async (frames) => {
  const view = document.querySelector('.timeline .view');
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < frames; frame++) {
    const deltaX = frame < frames / 2 ? 23 : -23;
    view.dispatchEvent(new WheelEvent('wheel', { deltaX, bubbles: true, cancelable: true }));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
}, frames);

await browse(async (page, open) => {
  const { first, busy } = await opened('timeline.html', 'timeline', ROUNDS);
  await open('timeline.html');
  const counts = await page.$eval('.timeline script', (script) => JSON.parse(script.textContent).tracks.map((track) => track.spans));
  console.log(`timeline of ${counts.reduce((a, b) => a + b).toLocaleString('en-US')} spans`);
  promise('first drawing, from the start of loading', first, 500);
  tell('processor time of the page\'s thread for that', busy);
  for (const zoom of [0, 8, 16, 24, 40]) {
    await page.evaluate(press, '0');
    for (let step = 0; step < zoom; step++) await page.evaluate(press, 'w');
    promise(`panning, zoomed ${Math.round((1 / 0.7) ** zoom).toLocaleString('en-US')} times, a frame`, await pan(page, FRAMES), 33);
  }
  const times = { zoom: [], all: [], search: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.all.push(await drawn(page, press, '0'));
    times.zoom.push(await drawn(page, press, 'w'));
    times.search.push(await drawn(page, search, `Class1${round}`));
    await page.evaluate(search, '');
  }
  promise('everything', times.all, 100);
  promise('zoom in', times.zoom, 50);
  promise('search', times.search, 250);
});
