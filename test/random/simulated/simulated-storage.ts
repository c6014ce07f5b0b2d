import type { VolumeProvisioner, VolumeSource } from '../../../embedded-cluster/node/volume-provisioner.ts';

/** The storage of the driver: of each volume it keeps only the number of the last write. */
export class SimulatedStorage implements VolumeProvisioner {
  /** Every existing volume, with its last write. */
  readonly volumes = new Map<string, number>();
  readonly #snapshots = new Map<string, number>();
  readonly #step: (label: string) => Promise<void>;
  readonly #isMounted: (volumeName: string) => boolean;

  constructor(step: (label: string) => Promise<void>, isMounted: (volumeName: string) => boolean) {
    this.#step = step;
    this.#isMounted = isMounted;
  }

  async provision(volumeName: string, source?: VolumeSource): Promise<string> {
    await this.#step(`driver: makes volume ${volumeName}`);
    if (!this.volumes.has(volumeName)) this.volumes.set(volumeName, this.#read(source));
    return `/volumes/${volumeName}`;
  }

  async remove(volumeName: string): Promise<void> {
    await this.#step(`driver: removes volume ${volumeName}`);
    if (this.#isMounted(volumeName)) throw new Error(`volume ${volumeName} is mounted`);
    this.volumes.delete(volumeName);
  }

  async takeSnapshot(handle: string, volumeName: string): Promise<void> {
    await this.#step(`driver: takes a snapshot of ${volumeName}`);
    if (!this.#snapshots.has(handle)) this.#snapshots.set(handle, this.#read({ volume: volumeName }));
  }

  async removeSnapshot(handle: string): Promise<void> {
    await this.#step('driver: removes a snapshot');
    this.#snapshots.delete(handle);
  }

  modify(): Promise<void> {
    return Promise.resolve();
  }

  #read(source: VolumeSource | undefined): number {
    if (source === undefined) return 0;
    const content =
      'volume' in source ? this.volumes.get(source.volume) : this.#snapshots.get(source.snapshot);
    if (content === undefined) throw new Error('the source was deleted');
    return content;
  }
}
