/** A volume that cannot be made ready now: kubelet's FailedMount, which is retried with back-off. */
export class VolumeError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'VolumeError';
  }
}
