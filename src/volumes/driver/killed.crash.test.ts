import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { bindMounter } from './mount/bind-mounter.ts';
import { parseMountInfo } from '../../platform/mountinfo.ts';
import { startDriver } from './start-driver.ts';
import type { CallDriver } from './testing/test-driver.ts';
import { callerOf, configIn, driverDirectory, nfsOptions } from './testing/test-driver.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root: it mounts';

/** The last verb whose response the client had when the driver was killed. */
type Known = 'nothing' | 'create' | 'mount' | 'unmount';

const mountsIn = async (directory: string): Promise<string[]> =>
  parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'))
    .map(({ target }) => target)
    .filter((target) => target.startsWith(`${directory}/mounts/`));

/** Runs the life of one volume with a driver that dies at a step. Returns undefined if the life completed. */
async function lifeUntilDeath(directory: string, dieAt: number): Promise<Known | undefined> {
  const child = spawnDying(directory, dieAt);
  const exited = once(child, 'exit');
  const call = callerOf(await addressIn(child.stdout));
  child.stdout.resume();
  let known: Known = 'nothing';
  try {
    for (const verb of ['Create', 'Mount', 'Unmount'] as const) {
      const { Err } = await call(`VolumeDriver.${verb}`, { Name: 'v', Opts: nfsOptions });
      assert.equal(Err, '');
      known = verb.toLowerCase() as Known;
    }
    child.kill('SIGKILL');
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return known;
  } finally {
    await exited;
  }
}

function spawnDying(directory: string, dieAt: number): ChildProcessByStdio<null, Readable, null> {
  return spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'testing', 'dying-driver.ts'),
      ...['-name', 'nfsv3driver', '-listenAddr', '127.0.0.1:0', '-adminAddr', '127.0.0.1:0'],
      ...['-driversPath', join(directory, 'drivers'), '-mountDir', join(directory, 'mounts')],
      ...['-bindFrom', join(directory, 'shares'), '-watchInterval', '0'],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, DIE_AT: String(dieAt) } },
  );
}

async function addressIn(lines: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: lines })) {
    const address = /driver-server\.started.*"address":"([^"]+)"/u.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error('the driver ended before it listened');
}

test(
  'a driver that is killed at any step knows every mount, and nothing is mounted without a request',
  {
    skip,
  },
  async (t) => {
    let dieAt = 1;
    for (; ; dieAt += 1) {
      const directory = await directoryWithShare(t);
      const known = await lifeUntilDeath(directory, dieAt);
      await afterDeath(directory, known ?? 'unmount', dieAt);
      if (known === undefined) break;
    }
    assert.ok(dieAt > 9, `${dieAt} steps`);
  },
);

test('a driver that is killed during its recovery recovers the next time', { skip }, async (t) => {
  const directory = await directoryWithShare(t);
  const afterMount = 4;
  assert.equal(await lifeUntilDeath(directory, afterMount), 'create');
  assert.equal((await mountsIn(directory)).length, 1);
  // before the unmount, after it, and after its record
  for (const dieAt of [1, 2, 3]) {
    const child = spawnDying(directory, dieAt);
    child.stdout.resume();
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
  }
  await afterDeath(directory, 'create', afterMount);
});

async function directoryWithShare(t: TestContext): Promise<string> {
  const made: string[] = [];
  // before the directory is removed: hooks run in order
  t.after(async () => {
    const mounter = bindMounter('/');
    for (const directory of made)
      for (const target of await mountsIn(directory))
        await mounter.unmount(target, AbortSignal.timeout(30_000));
  });
  const baseDirectory = await driverDirectory(t);
  made.push(baseDirectory);
  await mkdir(join(baseDirectory, 'shares', 'export'), { recursive: true });
  await writeFile(join(baseDirectory, 'shares', 'export', 'file'), 'of the share');
  return baseDirectory;
}

/**
 * Starts the next driver. Checks that it keeps everything that the client had a response for, undoes the
 * rest, and can run the same life again.
 */
async function afterDeath(directory: string, known: Known, dieAt: number): Promise<void> {
  const at = `died at step ${dieAt}, client knows ${known}`;
  const target = join(directory, 'mounts', 'v');
  const mounter = bindMounter(join(directory, 'shares'));
  const running = await startDriver(configIn(directory), { mounter, out: () => undefined });
  const call: CallDriver = callerOf(running.address);
  try {
    const counted = async (): Promise<number> => {
      const [volume] = (await call('VolumeDriver.List')).Volumes ?? [];
      return volume?.MountCount ?? 0;
    };
    const isMounted = async (): Promise<boolean> => (await mountsIn(directory)).length > 0;
    await until(
      `${at}: mounts are as the driver counts them`,
      async () => (await counted()) > 0 === (await isMounted()),
    );
    const count = await counted();
    if (known === 'unmount') assert.equal(count, 0, at);
    if (known === 'nothing' || known === 'create') assert.ok(count <= 1, at);
    if (known === 'mount' && count > 0)
      assert.equal(await readFile(join(target, 'file'), 'utf8'), 'of the share', at);
    assert.ok((await mountsIn(directory)).length <= 1, at);

    // as when an app starts again, and then volman's purge
    for (const verb of ['Create', 'Mount'] as const)
      assert.equal((await call(`VolumeDriver.${verb}`, { Name: 'v', Opts: nfsOptions })).Err, '', at);
    assert.deepEqual(await mountsIn(directory), [target], at);
    assert.equal(await readFile(join(target, 'file'), 'utf8'), 'of the share', at);
    for (let remaining = count + 1; remaining > 0; remaining -= 1)
      assert.equal((await call('VolumeDriver.Unmount', { Name: 'v' })).Err, '', at);
    assert.deepEqual((await call('VolumeDriver.List')).Volumes, [], at);
  } finally {
    await running.stop();
  }
  assert.deepEqual(await mountsIn(directory), [], at);
  assert.deepEqual(await readdir(join(directory, 'mounts')), ['.state'], at);
}
