import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { sha1OfFile, verifyDigests } from './digest.ts';

const hexOf = (algorithm: string, content: string): string =>
  createHash(algorithm).update(content).digest('hex');

test('property: a file matches its own digests, and is rejected for one wrong digest among them', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'blob');
  const algorithm = fc.constantFrom('sha1', 'sha256', 'sha512');
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.array(algorithm, { minLength: 1 }), async (content, algorithms) => {
      await writeFile(path, content);
      assert.equal(await sha1OfFile(path), hexOf('sha1', content));
      await verifyDigests(path, hexOf('sha1', content), 'it');
      const good = algorithms.map((name) => `${name}:${hexOf(name, content)}`);
      await verifyDigests(path, good.join(';'), 'it');
      const bad = hexOf('sha1', `${content}.`);
      await assert.rejects(
        verifyDigests(path, [...good, bad].join(';'), 'it'),
        (error) => isProductError(error, 'AGENT_BLOB_INVALID') && error.message.startsWith('it has sha1'),
      );
    }),
    { numRuns: 25 },
  );
  await assert.rejects(verifyDigests(path, 'md5:00', 'it'), (error) =>
    isProductError(error, 'DIGEST_INVALID'),
  );
});
