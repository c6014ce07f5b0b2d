import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runDriver } from './cli.ts';

const isRoot = process.geteuid?.() === 0;

async function driverArgs(t: TestContext): Promise<{ directory: string; args: string[] }> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-run-driver-'));
  t.after(() => rm(directory, { recursive: true }));
  const directories = ['-driversPath', join(directory, 'drivers'), '-mountDir', join(directory, 'volumes')];
  return { directory, args: ['-name', 'nfsv3driver', ...directories, '-adminAddr', '127.0.0.1:0'] };
}

const run = (t: TestContext, given: readonly string[]): Promise<number> =>
  runDriver(given, { environment: {}, out: () => undefined, signal: t.signal });

test('a driver without the permission to mount does not start', async (t) => {
  const given = await driverArgs(t);
  if (!isRoot)
    return assert.rejects(run(t, given.args), { code: 'NOT_SUPPORTED', message: /only root may.*sudo/u });
  const main = join(import.meta.dirname, 'main.ts');
  const user = { uid: 65_534, gid: 65_534 };
  if (
    spawnSync(process.execPath, ['--version'], user).status !== 0 ||
    spawnSync('cat', [main], user).status !== 0
  )
    return t.skip('user 65534 may not read this checkout');
  const { status, stderr } = spawnSync(process.execPath, [main, ...given.args], {
    ...user,
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /^volumes driver must run as root, because it mounts; run it with sudo\n$/u);
});

test(
  'a driver whose mount directory is missing does not start',
  { skip: !isRoot && 'needs root' },
  async (t) => {
    const given = await driverArgs(t);
    const missing = ['-listenAddr', '127.0.0.1:0', '-bindFrom', join(given.directory, 'shares')];
    await assert.rejects(run(t, [...given.args, ...missing]), /-bindFrom is not a directory: create it/u);
  },
);

test(
  'a driver whose port is in use reports this and the remedy',
  { skip: !isRoot && 'needs root' },
  async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    t.after(() => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const given = await driverArgs(t);
    const shares = join(given.directory, 'shares');
    await mkdir(shares);
    const rest = ['-listenAddr', `127.0.0.1:${port}`, '-bindFrom', shares];
    await assert.rejects(run(t, [...given.args, ...rest]), {
      code: 'DRIVER_CONFIG_INVALID',
      message:
        /cannot listen at 127\.0\.0\.1:\d+ \(EADDRINUSE\): stop the program that listens there, or set -listenAddr/u,
    });
  },
);
