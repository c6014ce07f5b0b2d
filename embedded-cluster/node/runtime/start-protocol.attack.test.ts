import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { test } from 'node:test';
import { runCommand } from '../command.ts';
import { awaitStart, execExit } from './start-protocol.ts';

/** Longer than the longest string of V8, and than the memory of a small machine. */
const endless = 'head -c 600M /dev/zero';

const shell = (script: string): ChildProcess =>
  spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'pipe', 'ignore', 'pipe'] });

/** Returns the increase of this process's peak memory, in MiB. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = process.resourceUsage().maxRSS;
  await work();
  return (process.resourceUsage().maxRSS - before) / 1024;
}

test('an endless status line of an exec uses no memory, and later lines are read', async () => {
  const grown = await growth(async () => {
    const exit = await execExit(
      shell(`${endless} >&4; printf '\\nexit 3\\nexit 99999\\nexit x\\n' >&4; exit 3`),
    );
    assert.deepEqual(exit, { exitCode: 3 });
    const without = await execExit(shell(`printf 'exit 4' >&4; exit 4`));
    assert.deepEqual(without, { exitCode: 4 });
  });
  assert.ok(grown < 200, `grew by ${grown} MiB`);
});

test('the output of a pod to the start pipes, before and after the start, uses no memory', async () => {
  const deadline = AbortSignal.timeout(60_000);
  const check = (): Promise<void> => Promise.resolve();
  const grown = await growth(async () => {
    const after = `${endless} >&4; yes | head -c 600M >&4; ${endless} >&2; exit 5`;
    const child = shell(
      `${endless} >&4; printf '\\npid 7\\nmounted\\n' >&4; read _; echo started >&4; ${after}`,
    );
    const started = await awaitStart(child, { check, deadline });
    assert.equal(started.pid, 7);
    assert.deepEqual(await started.exited, { exitCode: 5 });
    await assert.rejects(
      awaitStart(shell('yes reason | head -c 600M >&2'), { check, deadline }),
      /^Error: reason; /,
    );
  });
  assert.ok(grown < 200, `grew by ${grown} MiB`);
});

test('a program of the node that prints endlessly about a pod uses no memory', async () => {
  const grown = await growth(async () => {
    const { exitCode, stderr } = await runCommand('/bin/sh', ['-c', `yes | head -c 600M >&2; exit 6`]);
    assert.equal(exitCode, 6);
    assert.ok(stderr.startsWith('y\ny\n'));
  });
  assert.ok(grown < 200, `grew by ${grown} MiB`);
});
