// Real senders: what Datadog's profiler and OpenTelemetry's exporter sent is what Profiles, Calls and a call's page show.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf, browse, compare, comparedRows, file, json, same, sameFunctions, serve } from './browser.mjs';

const [senders] = process.argv.slice(2);

/** Works for some seconds, more in one function than in the other. */
const PROFILED = `
import time
def parse(seconds):
    end = time.time() + seconds
    while time.time() < end:
        sum(range(1000))
def render(seconds):
    end = time.time() + seconds
    while time.time() < end:
        sorted(range(1000))
for _ in range(10):
    parse(0.3)
    render(0.1)
`;

const TRACED = `
import sys, time
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider(resource=Resource.create({'service.name': 'stock', 'service.version': '2.0'}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1] + '/v1/traces')))
tracer = provider.get_tracer('walk')
for number in range(12):
    with tracer.start_as_current_span(f'GET /stock/{number}', kind=SpanKind.SERVER):
        with tracer.start_as_current_span('SELECT stock', kind=SpanKind.CLIENT):
            time.sleep(0.002 * (number + 1))
        with tracer.start_as_current_span('render'):
            time.sleep(0.001)
provider.shutdown()
`;

/** Runs a script with the senders' packages, behind and in front of other arguments. */
function python(name, script, { env = {}, front = [], behind = [] }) {
  const path = file(name);
  writeFileSync(path, script);
  const run = spawnSync('python3', [...front, path, ...behind], { encoding: 'utf8', env: { ...process.env, PYTHONPATH: senders, ...env } });
  assert.equal(run.status, 0, run.stderr);
  assert.ok(!/Failed to export|Traceback/.test(run.stderr), run.stderr);
}

await serve(async ({ origin, data }) => {
  for (const version of ['1.0', '1.1']) {
    const env = { DD_TRACE_AGENT_URL: origin, DD_PROFILING_ENABLED: 'true', DD_PROFILING_UPLOAD_INTERVAL: '2', DD_SERVICE: 'shop', DD_VERSION: version };
    python('profiled.py', PROFILED, { env, front: [join(senders, 'bin/ddtrace-run'), 'python3'] });
  }
  python('traced.py', TRACED, { behind: [origin] });
  const captures = json('captures', 'ls', data, '--json');
  const of = (service, version) => {
    const ids = captures.filter((capture) => capture.service === service && capture.version === version).map(({ id }) => id);
    assert.ok(ids.length, `nothing of ${service} ${version}`);
    return `${data}#${ids}`;
  };
  const [before, after, stock] = [of('shop', '1.0'), of('shop', '1.1'), of('stock', '2.0')];

  await browse(async (page) => {
    // Profiles: every value that the profiler measured, of the service and of one version of it.
    const drawn = page.locator('.fetched[aria-busy=false] .flame');
    await page.goto(`${origin}/profiles?svc=shop`);
    await drawn.waitFor();
    // The usual value of this profiler is zero without a graphics card: the page shows one that says something.
    const shop = `${data}#${captures.filter(({ service }) => service === 'shop').map(({ id }) => id)}`;
    const [first] = json('top', '--json', shop);
    assert.ok(first.measure === 'cpu-time' && first.total > 0, first.measure);
    const value = page.getByRole('combobox', { name: 'Value' });
    await page.waitForURL(/value=cpu-time/);
    for (const name of ['cpu-time', 'wall-time', 'alloc-space']) {
      await value.selectOption(name);
      await page.waitForURL(new RegExp(`value=${name}`));
      await drawn.waitFor();
      const tables = json('top', '--json', '--value', name, shop);
      assert.ok(tables[0].total > 0, name);
      await sameFunctions(page, tables, name);
      const [busy] = tables[0].functions.filter(({ function: name }) => name === 'parse');
      assert.ok(name === 'alloc-space' || busy.self > 0, 'the profiler saw the work');
    }
    await page.goto(`${origin}/profiles?svc=shop&version=1.1&value=wall-time`);
    await drawn.waitFor();
    await sameFunctions(page, json('top', '--json', '--value=wall-time', after), 'one version');

    // The two versions, beside each other.
    await page.goto(`${origin}/profiles?svc=shop&value=wall-time`);
    await drawn.waitFor();
    await compare(page);
    await page.waitForURL(/base_version=1\.0&version=1\.1/);
    assert.equal((await addressOf(page)).searchParams.get('value'), 'wall-time');
    const rows = await comparedRows(page);
    const [diff] = json('diff', '--json', '--wide', '--value=wall-time', before, after);
    const by = new Map(diff.functions.map((row) => [row.function, row]));
    assert.equal(rows.length, Math.min(diff.functions.length, 500));
    for (const row of rows) {
      const { before, after } = by.get(row.name);
      same(row.before, before.self, row.name);
      same(row.after, after.self, row.name);
    }

    // Calls, their count and each of them, and one call's spans.
    await page.goto(`${origin}/calls?svc=stock&sort=-duration`);
    const [overview] = json('calls', stock, '--overview', '--json');
    assert.equal(overview.calls, 12);
    await page.getByText(/^12 calls, /).waitFor();
    const calls = json('calls', stock, '--json', '--sort=-duration');
    const name = (call) => (call.title ?? call.method).replace(/^GET /, '');
    const list = page.locator('tr[data-row]');
    await list.first().waitFor();
    assert.equal(await list.count(), calls.length);
    for (const [at, call] of calls.entries()) {
      const text = await list.nth(at).textContent();
      assert.ok(text.includes(name(call)), `${text} for ${name(call)}`);
      same(await list.nth(at).locator('td.bars').textContent(), call.duration, name(call));
    }
    await list.first().click();
    await page.getByRole('complementary', { name: 'The call' }).getByRole('link', { name: name(calls[0]) }).first().click();
    await page.waitForURL(/\/call\//);
    const [detail] = json('call', '--json', `${data}#${calls[0].capture.id}`, calls[0].capture.call);
    const figure = (name) => page.locator('.callhead .figs > div', { hasText: name }).locator('b').textContent();
    await page.locator('.tree tbody tr').first().waitFor();
    same(await figure('duration'), detail.duration_ns, 'duration');
    assert.equal(await figure('spans'), String(detail.all_spans));
    assert.equal(detail.all_spans, 3);
  }, { origin, viewport: { width: 1440, height: 900 } });
});
