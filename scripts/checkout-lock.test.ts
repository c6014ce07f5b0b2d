import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../test/support/until.ts';
import { smallCheckout, type SmallCheckout } from './testing/small-checkout.ts';

const steps = [
  ['ensureInstalled', 'npm', 'node_modules/.installed-from'],
  ['ensureBuilt', 'node', 'dist/.built-from'],
] as const;

/** Replaces the program of a step by one that waits until it is released. */
async function makeSlow(checkout: SmallCheckout): Promise<void> {
  const { directory, pinnedNode, slowly } = checkout;
  await checkout.writeScript(pinnedNode, slowly);
  await checkout.writeScript(join(directory, 'bin', 'npm'), slowly);
}

for (const [step, program, stamp] of steps) {
  test(`${step} starts no second ${program} while one outlives a killed start`, async (t) => {
    const checkout = await smallCheckout(t);
    await makeSlow(checkout);
    await writeFile(join(checkout.directory, stamp), 'of former sources');
    const killed = checkout.start(step);
    await until(`${program} runs`, async () => (await checkout.running()).length > 0);
    const [remaining = 0] = await checkout.running();
    process.kill(killed.pid, 'SIGKILL');
    await killed.ended;
    assert.equal(existsSync(join(checkout.directory, stamp)), false, 'the stamp is of what was there before');

    const second = checkout.start(step);
    await until('the second start has ended or begun its own', async () => {
      return (await hasEnded(second.pid)) || (await checkout.running()).length > 1;
    });
    assert.deepEqual(await checkout.running(), [remaining]);
    const refused = await second.ended;
    assert.equal(refused.exitCode, 1);
    assert.match(
      refused.stderr,
      new RegExp(`another installation or build is running here \\(pid ${remaining}\\)`),
    );
    assert.equal(existsSync(join(checkout.directory, stamp)), false);

    await checkout.release();
    await until(`${program} has ended`, () => hasEnded(remaining));
    assert.deepEqual(await checkout.start(step).ended.then(({ exitCode }) => exitCode), 0);
    assert.match(await readFile(join(checkout.directory, stamp), 'utf8'), /^[0-9a-f]{64}$/);
    assert.deepEqual(await locks(checkout), []);
  });
}

test('only one of several starts that meet a stale lock builds', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const checkout = await smallCheckout(t);
    await makeSlow(checkout);
    await symlink('999999999 1 999999998 1', join(checkout.directory, '.installing'));

    const starts = Array.from({ length: 6 }, () => checkout.start('ensureBuilt').ended);
    let refused = 0;
    for (const end of starts) void end.then(({ exitCode }) => (refused += exitCode === 1 ? 1 : 0));
    const building = async (): Promise<number> => (await checkout.running()).length;
    await until('each start builds or has ended', async () => refused + (await building()) >= starts.length);

    assert.equal(await building(), 1, 'two builds at a time');
    await checkout.release();
    const exitCodes = (await Promise.all(starts)).map(({ exitCode }) => exitCode);
    assert.deepEqual(exitCodes.filter((code) => code === 0).length, 1);
    assert.deepEqual(await locks(checkout), []);
  }
});

async function locks({ directory }: SmallCheckout): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith('.installing'));
}

/** Returns whether a process has ended; a zombie counts as ended. */
async function hasEnded(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z ');
  return stat.includes(') Z ');
}
