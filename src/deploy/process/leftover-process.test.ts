import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../platform/clock.ts';
import { identifyProcess } from '../../platform/process-identity.ts';
import { waitForLeftoverProcess } from './leftover-process.ts';
import { signalGroup } from '../../platform/run-program.ts';

async function orphan(t: TestContext, disposable: boolean) {
  const child = spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const identity = identifyProcess(child.pid ?? 0);
  assert.ok(identity);
  return { ...identity, doing: "CPI call 'create_vm'", disposable };
}

/** The wait for a CPI call, in sleeps of ten seconds. */
const twoMinutes = 12;

/**
 * Returns options with a clock whose first `skips` sleeps count as ten seconds each. Every sleep really takes
 * 1 ms, because the kernel needs some time to end a killed process.
 */
function options(skips: number) {
  const written: string[] = [];
  let skipped = 0;
  let sleeps = 0;
  const clock = {
    now: () => Date.now() + skipped,
    sleep: async () => {
      sleeps += 1;
      if (sleeps <= skips) skipped += 10_000;
      await systemClock.sleep(1);
    },
  };
  return { written, clock, signal: undefined, write: (text: string) => void written.push(text) };
}

test('a process that is not needed any more is killed at once', async (t) => {
  const leftover = await orphan(t, true);
  const { written, ...rest } = options(0);

  await waitForLeftoverProcess(leftover, rest);

  assert.equal(identifyProcess(leftover.pid), undefined);
  assert.deepEqual(written, []);
});

test('a CPI call is waited for, and killed when it does not end', async (t) => {
  const leftover = await orphan(t, false);
  const { written, ...rest } = options(twoMinutes);

  await waitForLeftoverProcess(leftover, rest);

  assert.equal(identifyProcess(leftover.pid), undefined);
  assert.deepEqual(written, [
    `Waiting for the CPI call 'create_vm' of an interrupted run to end (process ${leftover.pid})\n`,
  ]);
});

test('a process that does not exist, or has another start time, is ignored', async (t) => {
  const leftover = await orphan(t, false);
  const { written, ...rest } = options(twoMinutes);

  await waitForLeftoverProcess({ ...leftover, started: 'earlier' }, rest);
  assert.ok(identifyProcess(leftover.pid));
  signalGroup(leftover.pid, 'SIGKILL');
  await waitForLeftoverProcess(undefined, rest);

  assert.deepEqual(written, []);
});
