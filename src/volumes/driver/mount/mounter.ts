import type { MountSpec } from './mount-order.ts';

/** How a mount answers: `stale` has a dead server or helper, or gave no answer in time. */
export type MountHealth = 'answers' | 'stale' | 'absent';

/**
 * Mounts shares. Each program that it starts is a process group of its own, which is killed at its deadline;
 * no method touches a path of a mount in the driver's own process.
 */
export interface Mounter {
  /**
   * Mounts at `target`, an empty folder of root's, and returns when the share answers there. What it leaves
   * after an error or a kill -9 `unmount` removes. Throws MountError, whose text holds no secret: TIMED_OUT
   * when `signal` is aborted.
   */
  mount(order: MountSpec, target: string, signal: AbortSignal): Promise<void>;

  /**
   * Unmounts what is at `target` and ends its helper: plainly, then by force unless it is in use and answers,
   * then lazily. Returns when nothing is mounted there, also where nothing was. Throws MountError.
   */
  unmount(target: string, signal: AbortSignal): Promise<void>;

  /** Asks the mount at `target`, for some seconds at most. */
  probe(target: string, deadlineSeconds: number): Promise<MountHealth>;

  /** Targets below `folder` that have a mount or a part of one, as /proc/self/mountinfo has them. */
  listMounts(folder: string): Promise<readonly string[]>;
}
