import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { PathSegment } from '../../../platform/path-segment.ts';
import { smallDriver } from '../../volman/testing/small-driver.ts';
import type { SmallDriver } from '../../volman/testing/small-driver.ts';
import { Volman } from '../../volman/volman.ts';
import type { VolumeMount } from '../../options/volume-mount.ts';
import type { CellPorts, ContainerSpec } from '../run-app.ts';

export const run = promisify(execFile);

export const notRoot =
  process.geteuid?.() === 0 ? false : 'only root can mount, and run an app as another user';

/** A directory on a shared mount, a driver that binds its `shares/NAME`, and the dependencies of a cell. */
export interface TestCell {
  readonly directory: string;
  readonly driver: SmallDriver;
  readonly steps: string[];
  readonly logged: string[];
  readonly stopping: AbortController;
  readonly ports: CellPorts;
  /** Returns a volume of the share with that name, for a directory below `apps`. */
  readonly volume: (name: string, changes?: Partial<VolumeMount>) => Promise<VolumeMount>;
  readonly spec: (command: readonly string[], volumes: readonly VolumeMount[]) => ContainerSpec;
}

/** Returns the mountinfo lines of a directory. Other mounts of the machine change during a test. */
export async function mountInfo(directory: string): Promise<string> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.filter((line) => line.includes(directory)).join('\n');
}

export async function testCell(t: TestContext): Promise<TestCell> {
  const directory = await mkdtemp(join(tmpdir(), 'cell-'));
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', directory]);
  const cell = cellOf(directory);
  t.after(async () => {
    cell.stopping.abort();
    await run('umount', ['--recursive', '--lazy', directory]);
    await rmdir(directory);
  });
  await run('mount', ['--make-shared', directory]);
  for (const name of ['mounts', 'shares', 'apps', 'drivers', 'state']) await mkdir(join(directory, name));
  await chmod(join(directory, 'mounts'), 0o700);
  const driver = await bindDriver(directory);
  t.after(() => driver.stop());
  return { ...cell, directory, driver, ...helpers(directory) };
}

/** Returns the dependencies of a cell, for a directory that testCell made. */
export function cellOf(directory: string): Pick<TestCell, 'steps' | 'logged' | 'stopping' | 'ports'> {
  const [steps, logged, stopping] = [[] as string[], [] as string[], new AbortController()];
  const log = (line: string): void => void logged.push(line);
  const volman = new Volman({
    directories: [join(directory, 'drivers')],
    mountDirectories: [join(directory, 'mounts')],
    deadlines: { short: 60, mount: 60 },
    metrics: { count: () => undefined, time: () => undefined },
    log,
    clock: () => 0,
  });
  const ports = {
    volman,
    state: join(directory, 'state'),
    deadlines: { start: 60, grace: 60, kill: 60, watch: 0.02 },
    log,
    onStep: (step: string) => void steps.push(step),
    signal: stopping.signal,
  };
  return { steps, logged, stopping, ports };
}

export function helpers(directory: string): Pick<TestCell, 'volume' | 'spec'> {
  return {
    volume: async (name, changes = {}) => {
      const share = join(directory, 'shares', name);
      await mkdir(share, { recursive: true });
      await chmod(share, 0o777);
      return {
        driver: 'nfsv3driver',
        volumeId: name,
        containerDir: join(directory, 'apps/data', name),
        isReadOnly: false,
        config: { source: share },
        ...changes,
      };
    },
    spec: (command, volumes) => ({
      container: 'app-1' as PathSegment,
      command,
      volumes,
      uid: 2000,
      gid: 2000,
      root: '/',
    }),
  };
}

async function bindDriver(directory: string): Promise<SmallDriver> {
  const driver = await smallDriver();
  driver.mount = async (name) => {
    const target = join(directory, 'mounts', name);
    await mkdir(target, { recursive: true });
    const { source } = { ...(driver.volumes.get(name)?.options as { source?: string }) };
    await run('mount', ['--bind', source ?? '', target]);
    return target;
  };
  driver.unmount = async (name) => {
    const target = join(directory, 'mounts', name);
    if ((await mountInfo(directory)).includes(` ${target} `)) await run('umount', ['--lazy', target]);
    await rm(target, { recursive: true, force: true });
  };
  const spec = { Name: 'nfsv3driver', Addr: driver.url, UniqueVolumeIds: true };
  await writeFile(join(directory, 'drivers/nfsv3driver.json'), JSON.stringify(spec), { mode: 0o644 });
  return driver;
}
