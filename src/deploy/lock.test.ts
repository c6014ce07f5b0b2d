import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { systemClock } from '../platform/clock.ts';
import { identifyProcess } from '../platform/process-identity.ts';
import { acquireLock as acquire, type DeploymentLock } from './lock.ts';
import { scratchDirectory } from './testing/scratch.ts';

const acquireLock = (path: string): Promise<DeploymentLock> =>
  acquire(path, { clock: systemClock, locks: join(dirname(path), 'locks') });

test('a second run at the same time fails, with the process and the start time of the first', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  const lock = await acquireLock(path);

  await assert.rejects(
    acquireLock(path),
    (error) =>
      isProductError(error, 'DEPLOYMENT_LOCKED') &&
      error.message.includes(`process ${process.pid}, since 20`),
  );

  await lock.release();
  await (await acquireLock(path)).release();
});

test('only one of many concurrent runs gets a stale lock', async (t) => {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'state.json');
  await writeFile(
    `${path}.lock`,
    JSON.stringify({ pid: process.pid, started: 'another boot/1', since: 'x' }),
  );

  const runs = await Promise.allSettled(Array.from({ length: 8 }, () => acquireLock(path)));

  assert.equal(runs.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const run of runs)
    if (run.status === 'rejected')
      assert.match(String(run.reason), new RegExp(`process ${process.pid}, since`));
  assert.deepEqual((await readdir(directory)).toSorted(), ['locks', 'state.json.lock']);
});

test('a run takes over the lock of a killed run and learns of the program that is still running', async (t) => {
  const path = join(await scratchDirectory(t), 'state.json');
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const identity = identifyProcess(child.pid ?? 0);
  await writeFile(
    `${path}.lock`,
    JSON.stringify({
      pid: process.pid,
      started: 'earlier',
      since: 'x',
      child: { ...identity, doing: "CPI call 'create_vm'", disposable: false },
    }),
  );

  const lock = await acquireLock(path);

  assert.equal(lock.leftoverProcess?.pid, child.pid);
  await lock.release();
});
