/** The data source of a new volume: the name of a volume, or the handle of a snapshot. */
export type VolumeSource = { readonly volume: string } | { readonly snapshot: string };

/**
 * Creates and removes the directories behind the embedded cluster's persistent volumes and snapshots. The
 * controllers use it.
 */
export interface VolumeProvisioner {
  /**
   * Creates a volume. Idempotent. Returns the absolute path of the volume's directory, as API objects contain
   * it. The directory is empty without a source, otherwise a whole copy of the source, never a part of it.
   * Rejects if the source changes all the time.
   */
  provision(volumeName: string, source?: VolumeSource): Promise<string>;
  /**
   * Removes a volume. Idempotent. Rejects, and changes nothing, while any process or mount uses the volume.
   * Never crosses a mount.
   */
  remove(volumeName: string): Promise<void>;
  /** Copies a volume as it is at one moment. Idempotent. Rejects if the volume changes all the time. */
  takeSnapshot(handle: string, volumeName: string): Promise<void>;
  /** Removes a snapshot. Idempotent. */
  removeSnapshot(handle: string): Promise<void>;
  /**
   * Applies the parameters of a VolumeAttributesClass to a volume; `isKnownParameter` accepts them.
   * Idempotent.
   */
  modify(volumeName: string, parameters: Readonly<Record<string, string>>): Promise<void>;
}

/**
 * Returns true for a supported parameter. The only one is `permissions`: the mode of the volume's root
 * directory, three or four octal digits.
 */
export function isKnownParameter(name: string, value: string): boolean {
  return name === 'permissions' && /^[0-7]{3,4}$/u.test(value);
}
