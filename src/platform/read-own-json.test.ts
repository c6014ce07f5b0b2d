import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProductError } from '../errors/product-error.ts';
import type { Field } from './field.ts';
import { readOwnJson } from './read-own-json.ts';

test('reads a file, and tells what is wrong in it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-json-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'file.json');
  const parse = (file: Field): number => file.get('pid').integer();
  const read = (): Promise<number | undefined> =>
    readOwnJson(path, parse, (problem, cause) => new ProductError('STATE_INVALID', problem, { cause }));

  assert.equal(await read(), undefined);
  await writeFile(path, '{"pid":7}');
  assert.equal(await read(), 7);
  for (const [text, message] of [
    ['{', 'it is not JSON'],
    ['[7]', 'it must be an object'],
    ['null', 'pid is missing; it must be a whole number'],
    ['{"pid":"7"}', 'pid must be a whole number'],
  ] as const) {
    await writeFile(path, text);
    await assert.rejects(read(), { code: 'STATE_INVALID', message });
  }
});
