import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { pageKilobytes, parsePageSize } from './page-size.ts';

/** Returns an auxiliary vector with these entries, in the kernel's format for a 64-bit program. */
const vector = (...entries: readonly (readonly [type: number, value: number])[]): Buffer =>
  Buffer.from(BigUint64Array.from(entries.flat().map(BigInt)).buffer);

test('the page size is the one that the kernel gives to programs', async () => {
  assert.equal(parsePageSize(vector([16, 0xfff], [6, 65_536], [0, 0])), 65_536);
  assert.equal(parsePageSize(vector([6, 16_384], [0, 0])), 16_384);
  assert.throws(() => parsePageSize(vector([16, 6], [0, 0])), /no page size/);
  const { stdout } = await promisify(execFile)('getconf', ['PAGESIZE']);
  assert.equal((await pageKilobytes()) * 1024, Number(stdout));
});
