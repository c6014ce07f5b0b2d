// What the tests have done in the guest, in few whole steps: a new process costs there.
import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { MountOrder } from '../../src/volumes/driver/mount/mount-order.ts';
import type { MountHealth } from '../../src/volumes/driver/mount/mounter.ts';
import { ShareMounter } from '../../src/volumes/driver/mount/share-mounter.ts';

const mounter = new ShareMounter({ unmountSeconds: 2 });

export const mount = (order: MountOrder, target: string, deadline: number): Promise<void> =>
  mounter.mount(order, target, AbortSignal.timeout(deadline));

export const unmount = (target: string, deadline: number): Promise<void> =>
  mounter.unmount(target, AbortSignal.timeout(deadline));

export const probe = (target: string, deadlineSeconds: number): Promise<MountHealth> =>
  mounter.probe(target, deadlineSeconds);

export const mounted = (folder: string): Promise<readonly string[]> => mounter.mounted(folder);

export const makeFolder = async (path: string): Promise<void> =>
  void (await mkdir(path, { recursive: true, mode: 0o711 }));

/** Runs a shell script of the test as the user of an app's container, and returns what it printed. */
export async function asApp(script: string, folder: string): Promise<string> {
  const user = ['--reuid=2000', '--regid=2000', '--clear-groups'];
  const { stdout, stderr } = await promisify(execFile)('setpriv', [...user, 'sh', '-c', `${script} 2>&1`], {
    cwd: folder,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  });
  return `${stdout}${stderr}`;
}

export const mountLines = async (path: string): Promise<readonly string[]> =>
  (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(` ${path}`));
