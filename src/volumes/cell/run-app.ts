import { setTimeout as delay } from 'node:timers/promises';
import { ProductError } from '../../errors/product-error.ts';
import type { FileLock } from '../../platform/file-lock.ts';
import { type MountEntry, parentMount, readMountTable } from '../../platform/mountinfo.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import type { Volman } from '../volman/volman.ts';
import { type AppSpec, AppProcess } from './app-process.ts';
import type { VolumeMount } from '../options/volume-mount.ts';
import { createMountPoints, lockContainer, releaseContainer } from './containers.ts';
import type { PlannedVolume } from './namespace-init/plan.ts';
import { planHidden, assertNotOverSystemPaths } from './protected-paths.ts';
import { runCellProgram } from './run-program.ts';

/** All values are in seconds. */
interface CellDeadlines {
  /** The time from the mount of the last volume until the app has started. */
  readonly start: number;
  /** Between SIGTERM and SIGKILL. */
  readonly grace: number;
  /** The time limit for killed processes to end, and for one program. */
  readonly kill: number;
  /** Between two checks for mounts that a driver has mounted again. */
  readonly watch: number;
}

export interface CellPorts {
  readonly volman: Volman;
  /** The directory of the records, which belongs to this user. */
  readonly state: string;
  readonly deadlines: CellDeadlines;
  readonly log: (line: string) => void;
  /** Called with each step when it has completed. */
  readonly onStep: (step: string) => void;
  /** Aborted when the app has to stop. */
  readonly signal: AbortSignal;
}

export interface ContainerSpec extends Omit<AppSpec, 'hidden'> {
  readonly container: PathSegment;
  readonly volumes: readonly VolumeMount[];
}

/**
 * Runs an app with its volumes until it ends or `signal` is aborted. Returns its exit code when the volumes
 * are unmounted. Each mount is recorded before it is made, so that `repair` can unmount it after a kill -9 at
 * any time.
 */
export async function runApp(spec: ContainerSpec, ports: CellPorts): Promise<number> {
  assertNotOverSystemPaths(spec.root, spec.volumes);
  for (const { driver, volumeId } of spec.volumes)
    ports.volman.assertMountable({ driver, volumeId, containerId: spec.container });
  const state = await ensurePrivateDirectory(ports.state);
  const lock = await lockContainer(state, spec.container);
  if (lock === undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `container '${spec.container}' is already running; choose another name`,
    );
  return runWithLock(spec, { ...ports, state }, lock);
}

async function runWithLock(spec: ContainerSpec, ports: CellPorts, lock: FileLock): Promise<number> {
  const { container, volumes, root } = spec;
  const { state, volman, onStep } = ports;
  try {
    const targets = volumes.map(({ containerDir }) => `${root === '/' ? '' : root}${containerDir}`);
    const named = volumes.map(({ driver, volumeId }) => ({ driver, volumeId }));
    const record = await createMountPoints(state, { container, volumes: named, targets }, () =>
      onStep('record'),
    );
    onStep('folders');
    let code: number;
    try {
      const planned = await mountAll(spec, ports);
      code = await runMounted(spec, planned, ports);
    } catch (error) {
      // report the start failure first
      const leftovers = await releaseContainer({ record, state, volman, onStep });
      if (leftovers.length === 0) throw error;
      throw containerStuckError(spec, [String(error instanceof Error ? error.message : error), ...leftovers]);
    }
    const remaining = await releaseContainer({ record, state, volman, onStep });
    if (remaining.length > 0) throw containerStuckError(spec, remaining);
    return code;
  } finally {
    lock.release();
  }
}

/** Mounts all volumes concurrently. Rejects with CONTAINER_FAILED, with the reason of each failure. */
async function mountAll(
  spec: ContainerSpec,
  { volman, onStep }: CellPorts,
): Promise<readonly PlannedVolume[]> {
  const { container: containerId, volumes } = spec;
  const mounted = await Promise.allSettled(
    volumes.map(async ({ driver, volumeId, config }) => {
      const path = await volman.mount({ driver, volumeId, containerId }, config);
      onStep(`mount ${driver} ${volumeId}`);
      return path;
    }),
  );
  const failures = mounted.flatMap((result, index) =>
    result.status === 'fulfilled' ? [] : [`${volumes[index]?.containerDir}: ${messageOf(result.reason)}`],
  );
  if (failures.length > 0)
    throw new ProductError('CONTAINER_FAILED', `failed to mount volume, errors: ${failures.join('; ')}`);
  const mounts = await readMountTable();
  return volumes.map(({ driver, containerDir, isReadOnly }, index) => {
    const result = mounted[index];
    const source = result?.status === 'fulfilled' ? result.value : '';
    const device = mountAt(mounts, source)?.device;
    if (device !== undefined) return { source, device, containerDir, isReadOnly };
    throw new ProductError(
      'CONTAINER_FAILED',
      `volume driver '${driver}' reported a mount at '${source}', but nothing is mounted there: run cell and driver in one mount namespace`,
    );
  });
}

async function runMounted(
  spec: ContainerSpec,
  planned: readonly PlannedVolume[],
  ports: CellPorts,
): Promise<number> {
  const { deadlines, signal, onStep, log } = ports;
  if (signal.aborted)
    throw new ProductError('INTERRUPTED', 'the app was not started, because the run was stopped before');
  const { root, volumes } = spec;
  const targets = volumes.map(({ containerDir }) => `${root === '/' ? '' : root}${containerDir}`);
  const hidden = planHidden(await readMountTable(), {
    at: ports.state,
    mountDirectories: ports.volman.mountDirectories,
    sources: planned.map(({ source }) => source),
    kept: [root, ports.state, ...targets],
  });
  const app = await AppProcess.start({ ...spec, hidden }, planned, deadlines.start);
  onStep('start');
  const ended = new AbortController();
  const watching = rebindReplacedMounts(app, planned, { ...ports, signal: ended.signal });
  const stopping = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  try {
    const code = await Promise.race([app.exited, stopping]);
    if (code !== undefined) return code;
    if (await stop(app, planned, ports)) return await app.exited;
    log(`processes of the app do not exit, although they were killed and their volumes unmounted by force`);
    throw new ProductError(
      'CONTAINER_STUCK',
      `processes of container '${spec.container}' do not exit; check the file server, and restart the machine if it stays unavailable`,
    );
  } finally {
    onStep('end');
    ended.abort();
    await watching;
  }
}

/**
 * Stops the app: SIGTERM, SIGKILL, then umount -f of the volumes. A process that waits for a dead server may
 * not be killable until its requests are aborted. The forced unmount is last, because it also fails requests
 * of other containers to that server.
 */
async function stop(
  app: AppProcess,
  planned: readonly PlannedVolume[],
  { deadlines, log }: CellPorts,
): Promise<boolean> {
  const { grace, kill } = deadlines;
  const failure = await app.terminate(kill);
  if (await app.waitForExit(failure === undefined ? grace : 0)) return true;
  log(`the app is killed: ${failure ?? `it did not stop within ${grace} seconds`}`);
  app.kill();
  if (await app.waitForExit(kill)) return true;
  for (const { source } of planned) {
    const args = ['--force', '--no-canonicalize', '--', source];
    const end = await runCellProgram('umount', args, kill);
    log(`umount --force ${source}: ${end.failure ?? 'done'}`);
  }
  return app.waitForExit(kill);
}

/** Binds each mount that the driver has made again over the dead mount that the app still has. */
async function rebindReplacedMounts(
  app: AppProcess,
  planned: readonly PlannedVolume[],
  { deadlines, log, onStep, signal }: CellPorts,
): Promise<void> {
  // compares device numbers, not mount ids: the kernel may reuse a mount id, but not a device number that the
  // app still has mounted
  const known = new Map(planned.map(({ source, device }) => [source, device]));
  const first = await readMountTable();
  for (const { source } of planned) {
    if (!parentMount(first, source)?.isShared)
      log(
        `if the driver has to mount ${source} again, this app does not get the new mount until it is restarted: ` +
          `the mount that has that folder is private (mount --make-shared ${parentMount(first, source)?.target ?? '/'})`,
      );
  }
  while (await sleep(deadlines.watch, signal)) {
    const mounts = await readMountTable();
    for (const volume of planned) {
      const mount = mountAt(mounts, volume.source);
      if (mount === undefined || mount.device === known.get(volume.source)) continue;
      known.set(volume.source, mount.device);
      const failed = await app.rebind([{ ...volume, device: mount.device }], deadlines.start);
      log(
        `the driver mounted ${volume.source} again; in the app: ${failed ?? 'bound over the previous mount'}`,
      );
      if (failed === undefined) onStep(`again ${volume.containerDir}`);
    }
  }
}

/** Sleeps. Returns false if `signal` was aborted. */
async function sleep(seconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(seconds * 1000, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

const mountAt = (mounts: readonly MountEntry[], path: string): MountEntry | undefined =>
  mounts.findLast(({ target }) => target === path);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const containerStuckError = ({ container }: ContainerSpec, leftovers: readonly string[]): ProductError =>
  new ProductError(
    'CONTAINER_STUCK',
    `container '${container}' was not removed completely: ${leftovers.join('; ')}. Run: volumes cell repair`,
  );
