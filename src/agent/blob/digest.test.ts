import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { parseDigests, verifyFile } from './digest.ts';

const hexOf = (algorithm: string, content: string): string =>
  createHash(algorithm).update(content).digest('hex');

test('reads bare sha1, prefixed and joined digests', () => {
  const one = hexOf('sha1', 'x');
  const two = hexOf('sha256', 'x');
  assert.deepEqual(parseDigests(`${one};sha256:${two}`), [
    { algorithm: 'sha1', hex: one },
    { algorithm: 'sha256', hex: two },
  ]);
  for (const text of ['', 'sha1:', 'md5:00', 'sha256:00', `${one};`, `sha256:${one}`, 'z'.repeat(40)]) {
    assert.throws(
      () => parseDigests(text),
      (error) => isProductError(error, 'AGENT_ARGUMENT_INVALID'),
      text,
    );
  }
});

test('property: a file matches its own digests, and one wrong digest among them is enough to refuse it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'blob');
  const algorithm = fc.constantFrom('sha1', 'sha256', 'sha512');
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.array(algorithm, { minLength: 1 }), async (content, algorithms) => {
      await writeFile(path, content);
      const good = algorithms.map((name) => `${name}:${hexOf(name, content)}`);
      await verifyFile(path, parseDigests(good.join(';')), 'it');
      const bad = `sha256:${hexOf('sha256', `${content}.`)}`;
      await assert.rejects(
        verifyFile(path, parseDigests([...good, bad].join(';')), 'it'),
        /^ProductError: it has sha256/,
      );
    }),
    { numRuns: 25 },
  );
});
