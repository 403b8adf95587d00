// What the agent of an open connection is asked to do; and listeners on ports that the system chose.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { accessible, browse, json, serve, traceloom } from './browser.mjs';

const field = (bytes) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, Buffer.from(bytes)]);
};

/** An agent on a socket, byte by byte. */
class Agent {
  constructor(address) {
    const [host, port] = address.replace('cdt://', '').split(':');
    this.socket = connect({ host, port: Number(port) });
    this.received = Buffer.alloc(0);
    this.socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.socket.emit('more');
    });
  }

  async read(length) {
    while (this.received.length < length) await once(this.socket, 'more');
    const bytes = this.received.subarray(0, length);
    this.received = this.received.subarray(length);
    return bytes;
  }

  async open() {
    const version = Buffer.alloc(8);
    version.writeBigInt64BE(100_605n);
    const names = ['shop-1_1691167327796', 'shop', 'prod'].map(field);
    this.socket.write(Buffer.concat([Buffer.of(0x14), version, ...names]));
    assert.deepEqual(await this.read(8), version);
    this.socket.write(Buffer.concat([Buffer.of(0x15), field('trace'), Buffer.alloc(8)]));
    this.handle = (await this.read(36)).subarray(0, 16);
  }

  data(text) {
    this.socket.write(Buffer.concat([Buffer.of(0x02), this.handle, field(text)]));
  }

  /** The commands that come with an acknowledgement. */
  async commands() {
    const [count] = await this.read(1);
    const commands = [];
    for (let n = 0; n < count; n++) {
      const id = Buffer.from(await this.read(16));
      const length = (await this.read(4)).readUInt32BE();
      commands.push({ id, word: (await this.read(length)).toString() });
    }
    return commands;
  }

  report({ id }, succeeded) {
    this.socket.write(Buffer.concat([Buffer.of(0x13), id, Buffer.of(succeeded ? 0x4b : 0xff)]));
  }
}

await serve(async ({ cdt, origin, data }) => {
  const token = (name, ...rights) => /tl_[0-9a-f]+/.exec(traceloom('token', 'add', name, '--data', data, ...rights.flatMap((right) => ['--right', right])))[0];
  const [reader, writer] = [token('reader', 'read'), token('writer', 'read', 'write')];
  await browse(async (page) => {
    // An empty store says where each listener is.
    const { rows } = await (await page.request.get(`${origin}/api/v1/listeners`)).json();
    const grpc = rows.find(({ name }) => name === 'otlp-grpc').send_to;
    assert.match(grpc, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    await page.goto(origin);
    await page.getByText(`export OTEL_EXPORTER_OTLP_ENDPOINT=${grpc} OTEL_EXPORTER_OTLP_PROTOCOL=grpc`).waitFor();
    await page.getByText(`export OTEL_EXPORTER_OTLP_ENDPOINT=${origin} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`).waitFor();
    await page.goto(`${origin}/settings`);
    for (const address of [grpc, origin, cdt]) await page.getByRole('cell', { name: `${address.replace(/^\w+:\/\//, '')} set by the operator` }).waitFor();

    const agent = new Agent(cdt);
    await agent.open();
    agent.data('data');
    assert.deepEqual(await agent.commands(), []);

    // Who has no token that may write is told, and comes back from the login.
    await page.goto(`${origin}/captures/1-1`);
    const asked = page.getByRole('region', { name: 'Ask the agent' });
    await asked.getByText('Commands need a token that may write.').waitFor();
    assert.equal(await asked.getByRole('button').count(), 0);
    for (const secret of [reader, writer]) {
      await asked.getByRole('link', { name: 'Log in' }).click();
      await page.getByLabel('Token').fill(secret);
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.waitForURL(`${origin}/captures/1-1`);
      await asked.waitFor();
    }

    // A command goes with the next acknowledgement, and its result comes to the page.
    await asked.getByRole('button', { name: 'Thread dump' }).click();
    await asked.getByRole('row', { name: /^Thread dump waiting for the agent/ }).waitFor();
    await accessible(page, 'A command');
    agent.data('more');
    const [dump, ...none] = await agent.commands();
    assert.deepEqual([dump.word, none], ['td', []]);
    agent.report(dump, true);
    const id = dump.id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    await asked.getByRole('row', { name: `Thread dump done ${id}` }).waitFor();
    await asked.getByRole('button', { name: 'Heap dump' }).click();
    await asked.getByRole('row', { name: /^Heap dump waiting/ }).waitFor();
    agent.data('more');
    const [heap] = await agent.commands();
    assert.equal(heap.word, 'heap');
    agent.report(heap, false);
    await asked.getByRole('row', { name: /^Heap dump failed/ }).waitFor();
    await accessible(page, 'Results of commands');

    // Of one that never came back the page says so, once the connection is closed; nothing more can be asked.
    await asked.getByRole('button', { name: 'Load of threads' }).click();
    await asked.getByRole('row', { name: /^Load of threads waiting/ }).waitFor();
    agent.socket.end();
    await asked.getByRole('row', { name: /^Load of threads never reported/ }).waitFor();
    assert.equal(await asked.getByRole('button').count(), 0);
    const [capture] = json('captures', 'ls', data, '--json');
    assert.deepEqual(capture.commands.map(({ command, succeeded }) => [command, succeeded]), [['td', true], ['heap', false], ['top', null]]);
  }, { origin, viewport: { width: 1440, height: 1000 } });
}, '--otlp-grpc', '127.0.0.1:0');
