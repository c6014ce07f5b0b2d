import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { bindMounter } from '../../src/volumes/driver/mount/bind-mounter.ts';
import { MountError } from '../../src/volumes/driver/mount/mount-error.ts';
import { parseMountInfo } from '../../src/platform/mountinfo.ts';
import { runMountProgram } from '../../src/volumes/driver/mount/run-program.ts';
import { rate } from '../broker/load.ts';
import { median } from '../median.ts';
import { createVolume, type MeasuredDriver, measuredDriver, mountAndUnmount } from './measured-driver.ts';

/**
 * Measures ratios of the volume driver, each within one run: Mount and Unmount compared with mount(8) and
 * umount(8) spawned by Node, 8 clients with 1, the recovery of 1,000 volumes with parsing the same mountinfo,
 * and CPU time with wall time while a mount waits. Bind mounts of local folders replace shares, in a separate
 * mount namespace. Needs root. `npm run bench:driver [-- --seconds N]`
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, folder: { type: 'string' } },
});
const seconds = Number(values.seconds);
const run = promisify(execFile);
const volumeCount = 1000;

/** Runs this program in a separate mount namespace, whose mounts end with it. */
async function inOwnNamespace(): Promise<number> {
  if (process.getuid?.() !== 0) throw new Error('bench:driver mounts: run it as root');
  const directory = await mkdtemp(join(tmpdir(), 'driver-bench-'));
  const argv = [process.execPath, import.meta.filename, '--folder', directory, '--seconds', values.seconds];
  try {
    return spawnSync('unshare', ['--mount', '--', ...argv], { stdio: 'inherit' }).status ?? 1;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const ms = (number: number): string => `${number.toFixed(1)} ms`;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function measure(directory: string): Promise<void> {
  const shares = join(directory, 'shares');
  await mkdir(join(shares, 'export'), { recursive: true });
  const driver = await measuredDriver(directory, bindMounter(shares));
  await measureMounts(driver, directory);

  const load = { seconds, requests: 2 };
  const one = await rate(1, load, () => mountAndUnmount(driver));
  const eight = await rate(8, load, () => mountAndUnmount(driver));
  print(`8 clients over 1: ${(eight / one).toFixed(2)} (${eight.toFixed(0)} and ${one.toFixed(0)} a second)`);

  await measureRecovery(driver, () => measuredDriver(directory, bindMounter(shares)));
  await measureWaiting(join(directory, 'waiting'), shares);
}

/** Compares Mount and Unmount of the driver with mount(8) and umount(8). */
async function measureMounts(driver: MeasuredDriver, directory: string): Promise<void> {
  const source = join(directory, 'shares', 'export');
  const target = join(directory, 'target');
  await mkdir(target);
  const ours: number[] = [];
  const bare: number[] = [];
  const end = performance.now() + seconds * 1000;
  // in turn, because the speed of the machine varies
  while (performance.now() < end) {
    bare.push(
      await timed(async () => {
        await run('mount', ['-o', 'bind,nosuid,nodev', '--', source, target]);
        await run('umount', ['-l', '--', target]);
      }),
    );
    const volume = await createVolume(driver);
    ours.push(
      await timed(async () => {
        await driver.call('VolumeDriver.Mount', volume);
        await driver.call('VolumeDriver.Unmount', volume);
      }),
    );
  }
  const [mountMs, bareMs] = [median(ours), median(bare)];
  print(
    `Mount and Unmount over mount(8) and umount(8): ${(mountMs / bareMs).toFixed(2)} (medians ${ms(mountMs)} and ${ms(bareMs)} of ${ours.length})`,
  );
}

/**
 * Mounts volumes with `driver`, stops it, and compares the start of its successors with parsing the
 * mountinfo.
 */
async function measureRecovery(
  driver: MeasuredDriver,
  restart: () => Promise<MeasuredDriver>,
): Promise<void> {
  for (let number = 0; number < volumeCount; number += 8)
    await Promise.all(
      Array.from({ length: 8 }, async () => driver.call('VolumeDriver.Mount', await createVolume(driver))),
    );
  await driver.stop();
  const parsing: number[] = [];
  const recovery: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    parsing.push(await timed(async () => parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'))));
    let restarted = driver;
    recovery.push(await timed(async () => (restarted = await restart())));
    const { Volumes = [] } = await restarted.call('VolumeDriver.List');
    const mounted = Volumes.filter(({ MountCount }) => MountCount === 1).length;
    if (mounted !== volumeCount) throw new Error(`${mounted} volumes of ${volumeCount} were recovered`);
    await restarted.stop();
  }
  const [recoveryMs, parseMs] = [median(recovery), median(parsing)];
  print(
    `recovery of ${volumeCount} volumes over parsing their mountinfo: ${(recoveryMs / parseMs).toFixed(1)} (${ms(recoveryMs)} and ${ms(parseMs)})`,
  );
}

/** Compares CPU time with wall time while a mount waits. */
async function measureWaiting(directory: string, shares: string): Promise<void> {
  await mkdir(directory);
  const driver = await measuredDriver(directory, {
    ...bindMounter(shares),
    mount: async (_order, _target, signal) => {
      const sleep = { program: 'sleep', args: [String(seconds)], searchPath: '/usr/bin:/bin', signal };
      const { exitCode } = await runMountProgram(sleep);
      if (exitCode !== 0) throw new MountError('FAILED', 'sleep(1) failed');
    },
  });
  const volume = await createVolume(driver);
  const before = process.cpuUsage();
  const wall = await timed(() => driver.call('VolumeDriver.Mount', volume));
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / 1000;
  print(`CPU over wall time while a mount waits: ${(cpu / wall).toFixed(4)} (${ms(cpu)} in ${ms(wall)})`);
  await driver.stop();
}

if (values.folder === undefined) process.exitCode = await inOwnNamespace();
else await measure(values.folder);
