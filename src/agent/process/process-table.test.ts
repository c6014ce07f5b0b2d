import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import { parseProcStat, procProcessTable, pageKilobytes, parsePageSize } from './process-table.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

test('property: parses any name of a process', () => {
  const rest = 'S 1 2 7 0 -1 4194560 1 0 0 0 11 22 0 0 20 0 1 0 98765 1000000 250 18446744073709551615';
  fc.assert(
    fc.property(fc.string({ maxLength: 15 }), (name) => {
      assert.deepEqual(parseProcStat(`42 (${name}) ${rest}\n`), {
        name,
        state: 'S',
        parentPid: 1,
        sessionId: 7,
        startTicks: 98_765,
        cpuTicks: 33,
        residentPages: 250,
      });
    }),
  );
  assert.equal(parseProcStat('nonsense'), undefined);
});

test('finds this process with its start time, and signals only the process with that start time', async () => {
  const own = await procProcessTable.find(process.pid);
  assert.ok(own !== undefined && own.memoryKilobytes > 0);
  assert.deepEqual(own.userIds, [process.getuid?.(), process.getuid?.()]);
  const age = Date.now() - own.startedAt;
  assert.ok(age > -2000 && age < process.uptime() * 1000 + 2000, `age ${age}`);
  assert.equal(
    await procProcessTable.signal({ pid: process.pid, startTicks: own.startTicks - 1 }, 'SIGKILL'),
    false,
  );
  assert.equal(await procProcessTable.find(2 ** 30), undefined);
});

/** Returns an auxiliary vector with these entries, in the kernel's format for a 64-bit program. */
const vector = (...entries: readonly (readonly [type: number, value: number])[]): Buffer =>
  Buffer.from(BigUint64Array.from(entries.flat().map(BigInt)).buffer);

test('reads the page size that the kernel gives to programs', async () => {
  assert.equal(parsePageSize(vector([16, 0xfff], [6, 65_536], [0, 0])), 65_536);
  assert.equal(parsePageSize(vector([6, 16_384], [0, 0])), 16_384);
  assert.throws(() => parsePageSize(vector([16, 6], [0, 0])), /no page size/);
  const { stdout } = await promisify(execFile)('getconf', ['PAGESIZE']);
  assert.equal((await pageKilobytes()) * 1024, Number(stdout));
});
