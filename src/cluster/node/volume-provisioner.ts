/** What a new volume is filled with: the name of a volume, or the handle of a snapshot. */
export type VolumeSource = { readonly volume: string } | { readonly snapshot: string };

/** Makes and removes the directories behind the embedded cluster's persistent volumes and snapshots. Used by controllers. */
export interface VolumeProvisioner {
  /**
   * Idempotent. Resolves with the absolute path of the volume's directory, the node's as objects have it: empty when new, or a whole copy of its
   * source, never a part of one. Rejects where the source does not hold still.
   */
  provision(volumeName: string, source?: VolumeSource): Promise<string>;
  /**
   * Idempotent. Rejects, with everything in place, while any process or mount still uses the volume.
   * Never crosses a mount.
   */
  remove(volumeName: string): Promise<void>;
  /** Idempotent. Copies a volume as it is at one moment; rejects where it does not hold still. */
  takeSnapshot(handle: string, volumeName: string): Promise<void>;
  /** Idempotent. */
  removeSnapshot(handle: string): Promise<void>;
  /** Idempotent. Brings a volume to the parameters of a VolumeAttributesClass, which `isKnownParameter` knows. */
  modify(volumeName: string, parameters: Readonly<Record<string, string>>): Promise<void>;
}

/** `permissions`: the mode of the volume's root directory, three or four octal digits. Nothing else can be changed. */
export function isKnownParameter(name: string, value: string): boolean {
  return name === 'permissions' && /^[0-7]{3,4}$/u.test(value);
}
