import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { ContainerLog } from './container-log.ts';
import { formatRecord, LineSplitter, parseRecord, toOutput } from './cri-log.ts';
import { readLog, type ReadOptions } from './read-log.ts';

const plain: ReadOptions = { timestamps: false };

async function openLog(
  t: TestContext,
): Promise<{ log: ContainerLog; changes: EventEmitter; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-log-'));
  t.after(() => rm(directory, { recursive: true }));
  const changes = new EventEmitter();
  let now = 0;
  const clock = (): Date => new Date((now += 1000));
  return { log: await ContainerLog.open(join(directory, '0.log'), clock, changes), changes, directory };
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) {
    all.push(chunk);
  }
  return Buffer.concat(all).toString();
}

test('property: logs print the output of a container, in any chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 6 }), (chunks) => {
      const cutter = new LineSplitter('stdout');
      const time = '2026-01-01T00:00:00.000Z';
      const records = [...chunks.flatMap((chunk) => cutter.push(chunk, time)), ...cutter.end(time)];
      const printed = records.map((record) => {
        const parsed = parseRecord(formatRecord(record).subarray(0, -1));
        assert.ok(parsed);
        return toOutput(parsed, { timestamps: false });
      });
      const written = Buffer.concat(chunks);
      const ended =
        written.length === 0 || written.at(-1) === 0x0a ? written : Buffer.concat([written, Buffer.of(0x0a)]);
      assert.deepEqual(Buffer.concat(printed), ended);
    }),
  );
});

test('tail, since, timestamps and limit select lines as in kubectl', async (t) => {
  const { log } = await openLog(t);
  log.write('stdout', Buffer.from('one\n'));
  log.write('stderr', Buffer.from('two\n'));
  log.write('stdout', Buffer.from('three'));
  log.close();
  const read = (options: Partial<ReadOptions>): Promise<string> =>
    collect(readLog(log.path, { ...plain, ...options }));
  assert.equal(await read({}), 'one\ntwo\nthree\n');
  assert.equal(await read({ tailLines: 2 }), 'two\nthree\n');
  assert.equal(await read({ tailLines: 0 }), '');
  assert.equal(await read({ sinceTime: new Date(2000) }), 'two\nthree\n');
  assert.equal(await read({ limitBytes: 6 }), 'one\ntw');
  assert.match(await read({ timestamps: true, tailLines: 1 }), /^1970-01-01T00:00:04.000Z three\n$/);
});

test('a follow prints new lines, across a rotation, and ends with the container', async (t) => {
  const { log, changes, directory } = await openLog(t);
  let writing = true;
  const followed = collect(
    readLog(log.path, plain, { changes, writing: () => writing, signal: new AbortController().signal }),
  );
  const line = Buffer.from(`${'x'.repeat(1023)}\n`);
  for (let count = 0; count < 11 * 1024; count += 1) {
    log.write('stdout', line);
    if (count % 512 === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  writing = false;
  log.close();
  assert.ok((await readdir(directory)).includes('0.log.1'));
  assert.equal((await followed).length % 1024, 0);
});

test('a follow ends with its signal', async (t) => {
  const { log, changes } = await openLog(t);
  const stop = new AbortController();
  log.write('stdout', Buffer.from('one\n'));
  const followed = collect(readLog(log.path, plain, { changes, writing: () => true, signal: stop.signal }));
  setImmediate(() => stop.abort());
  assert.equal(await followed, 'one\n');
  log.close();
});
