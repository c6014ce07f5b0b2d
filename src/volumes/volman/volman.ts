import { isProductError, ProductError } from '../../errors/product-error.ts';
import { discoverDrivers, type DriverSpec } from './discover-drivers.ts';
import { DriverClient, type DriverDeadlines } from './driver-client.ts';
import { volumeName, type VolumeKey } from '../options/volume-name.ts';

/** The metrics of volman, with their names on a Diego cell. */
interface VolmanMetrics {
  count(name: string): void;
  time(name: string, milliseconds: number): void;
}

interface VolmanPorts {
  /** The directories of spec files, in the order of `volman_driver_paths`. */
  readonly directories: readonly string[];
  /** Drivers must mount below these directories. */
  readonly mountDirectories: readonly string[];
  readonly deadlines: DriverDeadlines;
  readonly metrics: VolmanMetrics;
  readonly log: (line: string) => void;
  /** Returns milliseconds. */
  readonly clock: () => number;
}

interface VolumeRef extends VolumeKey {
  readonly driver: string;
}

interface KnownDriver {
  readonly spec: DriverSpec;
  readonly client: DriverClient;
  /** True if at the last scan its spec file existed and it responded. */
  readonly isActive: boolean;
  readonly isListed: boolean;
}

const unmountConcurrency = 8;

/**
 * The volume manager of a cell: it discovers drivers, and mounts and unmounts through them. A driver that was
 * found once stays known even if a later scan does not find it, so that its volumes can be unmounted.
 */
export class Volman {
  readonly #ports: VolmanPorts;
  readonly #drivers = new Map<string, KnownDriver>();
  #scanning: Promise<void> | undefined;

  constructor(ports: VolmanPorts) {
    this.#ports = ports;
  }

  /** The directories below which drivers must mount. */
  get mountDirectories(): readonly string[] {
    return this.#ports.mountDirectories;
  }

  /** Discovers drivers and activates them. Errors are logged; no known driver is lost because of them. */
  async scan(): Promise<void> {
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    await this.#scanning;
  }

  /** Returns the names of the drivers for which a container can be placed on this cell. */
  listDrivers(): readonly string[] {
    return [...this.#drivers]
      .filter(([, { isActive, isListed }]) => isActive && isListed)
      .map(([name]) => name)
      .toSorted();
  }

  /**
   * Mounts a volume for a container and returns its path on this machine. After an error it may be mounted:
   * call `release`.
   */
  async mount(volume: VolumeRef, options: object): Promise<string> {
    return this.#measured('Mount', volume.driver, async () => {
      const { client, name } = this.#getMountable(volume);
      await client.create(name, options);
      const path = await client.mount(name, volume.containerId);
      if (this.#ports.mountDirectories.some((directory) => path.startsWith(`${directory}/`))) return path;
      throw new ProductError(
        'DRIVER_FAILED',
        `volume driver '${volume.driver}' mounted at '${path}', outside ${this.#ports.mountDirectories.join(', ')}; ` +
          'if you trust it, allow its folder for mounts',
      );
    });
  }

  /** Throws the errors of `mount` that need no call to a driver: DRIVER_NOT_FOUND, VOLUME_MOUNT_INVALID. */
  assertMountable(volume: VolumeRef): void {
    this.#getMountable(volume);
  }

  /**
   * Releases a volume that may be mounted for a container: after a failed mount, or after the process that
   * mounted it was killed. If the driver has a separate volume for each container, the volume is removed
   * regardless of its mount count.
   */
  async release(volumeRef: VolumeRef): Promise<void> {
    await this.#measured('Unmount', volumeRef.driver, async () => {
      const { spec, client } = this.#getDriver(volumeRef.driver);
      const name = volumeName(volumeRef, spec.hasUniqueVolumeIds);
      const existing = (await client.list()).find((volume) => volume.name === name);
      if (existing === undefined) return;
      if (spec.hasUniqueVolumeIds) await removeVolume(client, name, existing.mountCount);
      else if (existing.mountCount > 0) await client.unmount(name, volumeRef.containerId);
    });
  }

  /**
   * Unmounts and removes all volumes of all drivers, as at the start of a cell, when no container is running.
   * Returns an error for each volume that could not be removed.
   */
  async purge(): Promise<readonly string[]> {
    const leftovers = await Promise.all(
      [...this.#drivers.values()].map((driver) => this.#purgeDriver(driver)),
    );
    return leftovers.flat();
  }

  async #purgeDriver({ spec, client }: KnownDriver): Promise<readonly string[]> {
    const leftovers: string[] = [];
    const note = (what: string, error: unknown): void => {
      leftovers.push(`${what}: ${messageOf(error)}`);
    };
    try {
      const volumes = [...(await client.list())];
      const worker = async (): Promise<void> => {
        for (let next = volumes.pop(); next !== undefined; next = volumes.pop()) {
          const { name, mountCount } = next;
          await removeVolume(client, name, mountCount).catch((error: unknown) =>
            note(`volume '${name}'`, error),
          );
        }
      };
      await Promise.all(Array.from({ length: unmountConcurrency }, worker));
    } catch (error) {
      note(`volumes of driver '${spec.name}'`, error);
    }
    return leftovers;
  }

  async #scan(): Promise<void> {
    const { directories, deadlines, log } = this.#ports;
    try {
      const { specs, ignored: refusals } = await discoverDrivers(directories);
      for (const refusal of refusals) log(refusal);
      const listed = new Set(specs.map(({ name }) => name));
      await Promise.all(
        specs.map(async (spec) => this.#activate({ spec, client: new DriverClient(spec, deadlines) })),
      );
      for (const [name, known] of this.#drivers)
        if (!listed.has(name)) this.#drivers.set(name, { ...known, isListed: false });
    } catch (error) {
      log(`the search for drivers failed, and the known drivers stay: ${messageOf(error)}`);
    }
  }

  async #activate(existing: Pick<KnownDriver, 'spec' | 'client'>): Promise<void> {
    const { name } = existing.spec;
    try {
      await existing.client.activate();
      this.#drivers.set(name, { ...existing, isActive: true, isListed: true });
    } catch (error) {
      this.#ports.log(messageOf(error));
      if (this.#drivers.has(name)) this.#drivers.set(name, { ...existing, isActive: false, isListed: true });
    }
  }

  #getMountable(volume: VolumeRef): { readonly client: DriverClient; readonly name: string } {
    const { spec, client, isListed } = this.#getDriver(volume.driver);
    if (!isListed) throw notFound(volume.driver);
    return { client, name: volumeName(volume, spec.hasUniqueVolumeIds) };
  }

  #getDriver(name: string): KnownDriver {
    const known = this.#drivers.get(name);
    if (known === undefined) throw notFound(name);
    return known;
  }

  async #measured<T>(verb: 'Mount' | 'Unmount', driver: string, act: () => Promise<T>): Promise<T> {
    const { metrics, clock } = this.#ports;
    const start = clock();
    try {
      return await act();
    } catch (error) {
      metrics.count(`Volman${verb}Errors`);
      throw error;
    } finally {
      const milliseconds = clock() - start;
      metrics.time(`Volman${verb}Duration`, milliseconds);
      metrics.time(`Volman${verb}DurationFor${driver}`, milliseconds);
    }
  }
}

/**
 * Unmounts as often as the driver's mount count. If the volume still exists, calls Remove, which unmounts
 * regardless of the count.
 */
async function removeVolume(client: DriverClient, name: string, mountCount: number): Promise<void> {
  const isThere = async (): Promise<boolean> => (await client.list()).some((volume) => volume.name === name);
  let failure: Error | undefined;
  try {
    for (let count = 0; count < mountCount; count += 1) await client.unmount(name);
  } catch (error) {
    if (!isProductError(error)) throw error;
    failure = error;
  }
  if (!(await isThere())) return;
  await client.remove(name);
  if (!(await isThere())) return;
  throw (
    failure ?? new ProductError('DRIVER_FAILED', `volume '${name}' still exists; see the log of its driver`)
  );
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function notFound(driver: string): ProductError {
  return new ProductError(
    'DRIVER_NOT_FOUND',
    `Plugin '${driver}' not found in list of known plugins; start that driver, or name the folder of its spec file`,
  );
}
