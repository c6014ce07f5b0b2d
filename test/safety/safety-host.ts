import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecResult } from '../../src/kubernetes/client/exec.ts';
import { killHard } from '../support/machine.ts';
import { variables, type Target } from './escape-probes.ts';
import { findHostDevice, type HostDevice } from './host-device.ts';

/** The reason why these tests cannot run here, or undefined if they can. */
export const missing =
  process.getuid?.() === 0 ? undefined : 'needs root: it is about what root of a pod may do';

/** Processes and files that are removed with the quarry. */
interface Made {
  /** The directory for files that probes create on the host. */
  readonly scratch: string;
  readonly device: HostDevice;
  readonly process: ChildProcess;
}

/** A target on the host that the test creates: a file, a process, a directory. */
export class Quarry {
  readonly directory: string;
  readonly target: Omit<Target, 'cluster'>;
  readonly #made: Made;

  private constructor(directory: string, target: Omit<Target, 'cluster'>, made: Made) {
    this.directory = directory;
    this.target = target;
    this.#made = made;
  }

  static async make(): Promise<Quarry> {
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-host-'));
    const canary = join(directory, 'canary');
    await writeFile(canary, 'alive');
    await mkdir(join(directory, 'folder'));
    const word = randomUUID();
    const child = spawn('/bin/sh', ['-c', 'while :; do sleep 1000; done', `${word}-on-host`], {
      stdio: 'ignore',
      // Create a process group, so that its sleep can be ended with it.
      detached: true,
    });
    const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-scratch-'));
    const device = await findHostDevice(scratch);
    const { disk, major, minor } = device;
    const target = {
      ...{ folder: '/usr', canary, word, pid: child.pid ?? 0 },
      ...{ disk, major, minor, rootDevice: await deviceOf('/') },
    };
    return new Quarry(directory, target, { scratch, device, process: child });
  }

  /** Runs a probe as root on the host, in a mount namespace whose changes are not visible outside. */
  proveOnHost(script: string, cluster: string): Promise<ExecResult> {
    const folder = join(this.directory, 'folder');
    const lines = [
      variables({ ...this.target, folder, cluster }),
      'mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 99',
      script,
    ];
    const args = ['--mount', '--propagation', 'private', '/bin/sh', '-c', lines.join('\n'), 'proof'];
    return new Promise((resolve, reject) => {
      const env = { ...process.env, TMPDIR: this.#made.scratch };
      execFile('unshare', args, { timeout: 30_000, cwd: '/', env }, (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number') reject(error);
        else resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  }

  async remove(): Promise<void> {
    const { scratch, device, process: child } = this.#made;
    if (child.pid !== undefined) killHard(-child.pid);
    await device.remove();
    await rm(this.directory, { recursive: true });
    await rm(scratch, { recursive: true });
  }
}

/** Returns the device of a path's mount, in mountinfo's format. */
async function deviceOf(path: string): Promise<string> {
  const entries = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' '))
    .filter(
      ([, , , , target = '-']) => path === target || path.startsWith(target === '/' ? '/' : `${target}/`),
    )
    .toSorted((a, b) => (a[4]?.length ?? 0) - (b[4]?.length ?? 0));
  return entries.at(-1)?.[2] ?? '';
}
