import { join } from 'node:path';
import type { Deadlines } from './config.ts';
import type { DriverLog } from './log.ts';
import type { DriverMetrics } from './metrics.ts';
import { MountError } from './mount/mount-error.ts';
import type { MountSpec } from './mount/mount-command.ts';
import type { Mounter, MountHealth } from './mount/mounter.ts';
import type { VolumeStore, VolumeRecord } from './volume-store.ts';
import { KeyedQueue } from '../../platform/keyed-queue.ts';
import { createMountPoint, removeMountPoint } from './mount-directory.ts';
import type { VolumeName } from '../options/volume-name.ts';
import { shareHost } from '../options/share.ts';

interface VolumeMountsDependencies {
  readonly mounter: Mounter;
  readonly store: VolumeStore;
  /**
   * Returns the mount that options specify. Rejects with MountError if the options are invalid or not signed,
   * or a secret cannot be read.
   */
  readonly resolveMount: (
    name: VolumeName,
    options: CreateOptions,
    signal: AbortSignal,
  ) => Promise<MountSpec>;
  /** Throws MountError if the options lack a required signature. */
  readonly verifyOptions: (name: VolumeName, options: CreateOptions) => void;
  readonly mountDir: string;
  /** The boot id of the running kernel. */
  readonly bootId: string;
  readonly deadlines: Deadlines;
  readonly log: DriverLog;
  readonly metrics: DriverMetrics;
  /** Returns the milliseconds of a monotonic clock. */
  readonly clock: () => number;
}

const slowMountMs = 8000;

/**
 * The volumes of one driver and their mounts. The record is written before each step that may leave a mount
 * behind. Changes of one volume run in its queue, one at a time.
 */
export class VolumeMounts {
  readonly ports: VolumeMountsDependencies;
  readonly #volumes = new Map<VolumeName, Volume>();
  readonly #queues = new KeyedQueue();
  readonly #stopping = new AbortController();
  #isClosed = false;

  constructor(ports: VolumeMountsDependencies) {
    this.ports = ports;
  }

  /** Rejects all mounts from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** Aborts the running programs. The next start of the driver finishes or undoes their work. */
  stop(): void {
    this.close();
    this.#stopping.abort();
  }

  inQueue<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#queues.run(name, work);
  }

  get(name: VolumeName): Volume | undefined {
    return this.#volumes.get(name);
  }

  all(): readonly Volume[] {
    return [...this.#volumes.values()];
  }

  targetOf(name: VolumeName): string {
    return join(this.ports.mountDir, name);
  }

  put(volume: Volume): void {
    this.ports.store.put(volume.record);
    this.#volumes.set(volume.record.name, volume);
  }

  /**
   * Loads a record into memory without writing it. It was read from the disk, or only the restart changed it.
   */
  load(record: VolumeRecord): void {
    this.#volumes.set(record.name, { record, options: record.lacksSecrets ? undefined : record.options });
  }

  async forget(name: VolumeName): Promise<void> {
    await this.ports.store.delete(name);
    this.#volumes.delete(name);
  }

  probe(target: string): Promise<MountHealth> {
    const { mounter, deadlines } = this.ports;
    return mounter.probe(target, deadlines.probe / 1000);
  }

  /**
   * Mounts the volume, replacing an existing mount. `afterwards` returns the final record. On failure, either
   * nothing is mounted or the phase is `unmounting`.
   */
  async mount(
    volume: Volume,
    signal: AbortSignal,
    afterwards = (record: VolumeRecord) => record,
  ): Promise<void> {
    const { metrics, log, clock, bootId } = this.ports;
    const { name } = volume.record;
    const target = this.targetOf(name);
    const deadline = this.#mountDeadline(signal);
    const spec = await this.#resolveMount(volume, deadline);
    if (volume.record.phase !== 'created') await this.unmount(volume);
    const started = clock();
    this.put({ ...volume, record: { ...volume.record, phase: 'mounting', bootId } });
    try {
      await this.#mountAt(target, spec, deadline);
      if (signal.aborted) throw new MountError('FAILED', 'the client disconnected');
      this.put({ ...volume, record: afterwards({ ...volume.record, phase: 'mounted', bootId }) });
    } catch (error) {
      metrics.mountFailed(error);
      await this.#cleanUpFailedMount({ ...volume, record: { ...volume.record, phase: 'mounting' } });
      throw error;
    }
    const took = clock() - started;
    metrics.mounted(took / 1000);
    if (took > slowMountMs)
      log.info('mount-duration-too-high', { volume: name, seconds: Math.round(took / 1000) });
  }

  /** Mounts the share of a volume at another path and unmounts it. Rejects if its server does not respond. */
  async probeByMounting(volume: Volume, target: string): Promise<void> {
    const deadline = this.#mountDeadline();
    const spec = await this.#resolveMount(volume, deadline);
    try {
      await this.#mountAt(target, spec, deadline);
    } finally {
      await this.unmountAt(target);
    }
  }

  /**
   * Unmounts a volume. Then keeps it, in phase `created` and with the mount count of `volume`, or forgets it.
   */
  async unmount(volume: Volume, then: 'keep' | 'forget' = 'keep'): Promise<void> {
    const { metrics, clock } = this.ports;
    const { name } = volume.record;
    const started = clock();
    this.#beginUnmount(volume);
    try {
      await this.unmountAt(this.targetOf(name));
    } catch (error) {
      metrics.unmountFailed(error);
      throw error;
    }
    metrics.unmounted((clock() - started) / 1000);
    if (then === 'forget') await this.forget(name);
    else this.put({ ...volume, record: { ...volume.record, phase: 'created' } });
  }

  /**
   * Records the phase `unmounting`. If the record cannot be written (disk full), unmounts anyway: the next
   * start of the driver may mount again, and then volman's purge unmounts.
   */
  #beginUnmount(volume: Volume): void {
    const { name, phase } = volume.record;
    const unmounting: Volume = { ...volume, record: { ...volume.record, phase: 'unmounting' } };
    this.#volumes.set(name, unmounting);
    // recovery treats a record in phase `mounting` in the same way
    if (phase === 'mounting' || phase === 'unmounting') return;
    try {
      this.ports.store.put(unmounting.record);
    } catch (error) {
      this.ports.log.error('state', error, { volume: name });
    }
  }

  async unmountAt(target: string): Promise<void> {
    const { mounter, deadlines } = this.ports;
    const deadline = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(deadlines.unmount)]);
    await mounter.unmount(target, deadline);
    await removeMountPoint(target);
  }

  async #mountAt(target: string, spec: MountSpec, signal: AbortSignal): Promise<void> {
    await createMountPoint(target);
    await this.ports.mounter.mount(spec, target, signal);
  }

  #mountDeadline(...signals: readonly AbortSignal[]): AbortSignal {
    const deadline = AbortSignal.timeout(this.ports.deadlines.mount);
    return AbortSignal.any([deadline, this.#stopping.signal, ...signals]);
  }

  async #resolveMount({ record, options }: Volume, signal: AbortSignal): Promise<MountSpec> {
    if (this.#isClosed)
      throw new MountError('FAILED', 'the driver is draining; the app has to start on another cell');
    if (options === undefined)
      throw new MountError('FAILED', 'the driver was restarted, and stores no passwords; restart the app');
    return this.ports.resolveMount(record.name, options, signal);
  }

  /** Removes what a failed mount left. If that fails, the watchdog tries again. */
  async #cleanUpFailedMount(volume: Volume): Promise<void> {
    try {
      await this.unmount(volume);
    } catch (error) {
      this.ports.log.error('undo-mount', error, { volume: volume.record.name });
    }
  }
}

/** The unparsed options of Create. */
export type CreateOptions = Readonly<Record<string, unknown>>;

/** A volume in memory: its record, and the options of Create with their secrets. */
export interface Volume {
  readonly record: VolumeRecord;
  /** Undefined after a restart, if the record lacks secrets. */
  readonly options: CreateOptions | undefined;
  /**
   * Options of a Create while the volume was in use. They take effect at the next Mount: until then the
   * watchdog mounts with the options that were verified.
   */
  readonly nextOptions?: CreateOptions | undefined;
}

/** Returns the file server that the options name, or the volume's own name if they name none. */
export function serverOf({ record, options = record.options }: Volume): string {
  const { source } = options;
  const host = typeof source === 'string' ? shareHost(source.replace(/^nfs:/u, '')) : '';
  return host.replace(/:$/u, '').toLowerCase() || record.name;
}

/** Returns the number of mounts of a volume that are in use. */
export const mountCount = ({ count, ids }: Pick<VolumeRecord, 'count' | 'ids'>): number => count + ids.length;

/** Adds a mount. The same id counts once. */
export function addMount(record: VolumeRecord, id: string | undefined): VolumeRecord {
  if (id === undefined) return { ...record, count: record.count + 1 };
  return { ...record, ids: [...new Set([...record.ids, id])] };
}

/** Removes a mount. Returns undefined if there is no mount with that id, or none without an id. */
export function removeMount(record: VolumeRecord, id: string | undefined): VolumeRecord | undefined {
  if (id !== undefined)
    return record.ids.includes(id)
      ? { ...record, ids: record.ids.filter((other) => other !== id) }
      : undefined;
  return record.count > 0 ? { ...record, count: record.count - 1 } : undefined;
}
