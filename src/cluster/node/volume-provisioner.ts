/** Makes and removes the directories behind the embedded cluster's persistent volumes. Used by the claim binder. */
export interface VolumeProvisioner {
  /** Idempotent. Resolves with the absolute path of the volume's directory, empty when new. */
  provision(volumeName: string): Promise<string>;
  /**
   * Idempotent. Rejects, with everything in place, while any process or mount still uses the volume.
   * Never crosses a mount.
   */
  remove(volumeName: string): Promise<void>;
}
