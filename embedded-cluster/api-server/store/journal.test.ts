import assert from 'node:assert/strict';
import fc from 'fast-check';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../../../src/errors/product-error.ts';
import { temporaryDirectory } from '../testing/temporary-directory.ts';
import { encodeLine, readLines, Journal } from './journal.ts';

test('appended records are read after a reopen, from a file that only its owner can read', async (t) => {
  const file = join(temporaryDirectory(t), 'journal', 'objects');
  const first = Journal.open(file);
  assert.deepEqual(first.records, []);
  first.journal.append({ a: 1 });
  first.journal.append({ b: 'zwei\n' });
  await first.journal.close();
  const second = Journal.open(file);
  assert.deepEqual(second.records, [{ a: 1 }, { b: 'zwei\n' }]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await second.journal.close();
  assert.throws(() => second.journal.append({}), /closed/);
});

test('a write that is truncated at any byte loses only that write', () => {
  const lines = [encodeLine({ n: 1 }), encodeLine({ n: 2, text: 'ä' })];
  const whole = Buffer.concat(lines);
  for (let length = 0; length < whole.length; length += 1) {
    const { records, length: good } = readLines(whole.subarray(0, length), 'j');
    const kept = length < (lines[0]?.length ?? 0) ? 0 : 1;
    assert.equal(records.length, kept, `cut at ${length}`);
    assert.equal(good, kept === 0 ? 0 : lines[0]?.length);
  }
});

test('all records are read back', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), (records) => {
      const { records: read } = readLines(Buffer.concat(records.map(encodeLine)), 'j');
      assert.deepEqual(read, JSON.parse(JSON.stringify(records)));
    }),
  );
});

test('a torn line is cut off, so that the next append starts a line of its own', async (t) => {
  const file = join(temporaryDirectory(t), 'objects');
  const { journal } = Journal.open(file);
  journal.append({ n: 1 });
  await journal.close();
  appendFileSync(file, '12345678 {"n":');
  const reopened = Journal.open(file);
  assert.deepEqual(reopened.records, [{ n: 1 }]);
  reopened.journal.append({ n: 2 });
  await reopened.journal.close();
  assert.deepEqual(readLines(readFileSync(file), file).records, [{ n: 1 }, { n: 2 }]);
});

test('damage before a valid line is an error that names file and line, and the file stays', async (t) => {
  const file = join(temporaryDirectory(t), 'objects');
  const content = Buffer.concat([{ n: 1 }, { n: 2 }, { n: 3 }].map(encodeLine));
  content[encodeLine({ n: 1 }).length + 12] = 0x58;
  writeFileSync(file, content);
  assert.throws(
    () => Journal.open(file),
    (error) =>
      isProductError(error, 'CLUSTER_JOURNAL_CORRUPT') &&
      error.message.includes(file) &&
      error.message.includes('line 2'),
  );
  assert.deepEqual(readFileSync(file), content);
});

test('compaction replaces the content, and later appends work', async (t) => {
  const file = join(temporaryDirectory(t), 'objects');
  const { journal } = Journal.open(file);
  for (let n = 0; n < 100; n += 1) journal.append({ n });
  const compacted = journal.compact([{ only: 'this' }]);
  journal.append({ and: 'meanwhile' });
  await compacted;
  journal.append({ and: 'after' });
  await journal.close();
  assert.deepEqual(readLines(readFileSync(file), file).records, [
    { only: 'this' },
    { and: 'meanwhile' },
    { and: 'after' },
  ]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('appends during compactions lose nothing and keep their order', async (t) => {
  const file = join(temporaryDirectory(t), 'objects');
  const { journal } = Journal.open(file);
  const written: { n: number }[] = [];
  const append = (n: number): void => {
    journal.append({ n });
    written.push({ n });
  };
  for (let round = 0; round < 20; round += 1) {
    const finished = new AbortController();
    const compacted = journal.compact(written).then(() => finished.abort());
    for (let n = 0; !finished.signal.aborted; n += 1) {
      append(round * 1000 + n);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await compacted;
  }
  const last = journal.compact(written);
  append(-1);
  await Promise.all([last, journal.close()]);
  assert.deepEqual(readLines(readFileSync(file), file).records, written);
});

test('a failed compaction changes nothing', async (t) => {
  const file = join(temporaryDirectory(t), 'objects');
  const { journal } = Journal.open(file);
  journal.append({ n: 1 });
  mkdirSync(join(`${file}.new`, 'in-the-way'), { recursive: true });
  await journal.compact([{ n: 2 }]);
  journal.append({ n: 3 });
  await journal.close();
  assert.deepEqual(readLines(readFileSync(file), file).records, [{ n: 1 }, { n: 3 }]);
});

test(
  'kill -9 in the middle of writing loses nothing that was acknowledged',
  { timeout: 30_000 },
  async (t) => {
    const file = join(temporaryDirectory(t), 'objects');
    const script = `
    import { Journal } from ${JSON.stringify(join(import.meta.dirname, 'journal.ts'))};
    const { journal } = Journal.open(process.argv[1]);
    for (let n = 0; ; n += 1) {
      journal.append({ n, filler: 'x'.repeat(2000) });
      if (n % 100 === 0) await new Promise((resolve) => process.stdout.write(n + '\\n', resolve));
    }`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let acknowledged = -1;
    for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
      const numbers = text.trim().split('\n').map(Number);
      acknowledged = Math.max(acknowledged, ...numbers);
      if (acknowledged >= 300) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const { journal, records } = Journal.open(file);
    assert(records.length > acknowledged, `${records.length} records for ${acknowledged} acknowledged`);
    records.forEach((record, index) => assert.equal((record as { n: number }).n, index));
    await journal.close();
    truncateSync(file);
  },
);
