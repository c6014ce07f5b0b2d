import type { MountSpec } from './mount-command.ts';

/** The health of a mount. `stale`: its server or id mapper is dead, or did not respond in time. */
export type MountHealth = 'answers' | 'stale' | 'absent';

/**
 * Mounts shares. Each program that it starts has its own process group, which is killed at the deadline. No
 * method accesses a path in a mount from the driver's own process, because that access may hang.
 */
export interface Mounter {
  /**
   * Mounts at `target`, an empty directory of root, and resolves when the share responds there. After an
   * error or a kill -9, `unmount` removes what is left. Rejects with MountError, whose text contains no
   * secret: TIMED_OUT if `signal` is aborted.
   */
  mount(spec: MountSpec, target: string, signal: AbortSignal): Promise<void>;

  /**
   * Unmounts what is mounted at `target` and ends its id mapper: first plainly, then by force unless the
   * mount is in use and responds, then lazily. Resolves when nothing is mounted there, also if nothing was.
   * Rejects with MountError.
   */
  unmount(target: string, signal: AbortSignal): Promise<void>;

  /** Probes the mount at `target`. Waits `deadlineSeconds` at most. */
  probe(target: string, deadlineSeconds: number): Promise<MountHealth>;

  /** Returns the targets below `directory` that have a mount or a part of one in /proc/self/mountinfo. */
  listMounts(directory: string): Promise<readonly string[]>;
}
