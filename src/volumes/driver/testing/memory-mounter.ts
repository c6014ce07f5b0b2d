import { once } from 'node:events';
import { MountError } from '../mount/mount-error.ts';
import type { MountSpec } from '../mount/mount-command.ts';
import type { Mounter, MountHealth } from '../mount/mounter.ts';

/** A mounter whose mounts are entries of a map. A test controls how its servers behave. */
export interface MemoryMounter extends Mounter {
  readonly mounts: Map<string, MountSpec>;
  /** The health by target. Targets that are not in the map are healthy. */
  readonly health: Map<string, MountHealth>;
  /** Every call, as `mount <target>`. */
  readonly calls: string[];
  /** Runs in each mount before the mount exists. It may reject, or wait for the deadline. */
  before: (spec: MountSpec, target: string, signal: AbortSignal) => Promise<void>;
  beforeUnmount: (target: string, signal: AbortSignal) => Promise<void>;
}

export function memoryMounter(): MemoryMounter {
  const mounter: MemoryMounter = {
    mounts: new Map(),
    health: new Map(),
    calls: [],
    before: async () => undefined,
    beforeUnmount: async () => undefined,
    mount: async (spec, target, signal) => {
      mounter.calls.push(`mount ${target}`);
      await mounter.before(spec, target, signal);
      if (mounter.mounts.has(target)) throw new MountError('FAILED', 'a second mount on one target');
      mounter.mounts.set(target, spec);
      mounter.health.delete(target);
    },
    unmount: async (target, signal) => {
      mounter.calls.push(`unmount ${target}`);
      await mounter.beforeUnmount(target, signal);
      mounter.mounts.delete(target);
      mounter.health.delete(target);
    },
    probe: async (target) =>
      mounter.mounts.has(target) ? (mounter.health.get(target) ?? 'answers') : 'absent',
    listMounts: async (directory) =>
      [...mounter.mounts.keys()].filter((target) => target.startsWith(`${directory}/`)),
  };
  return mounter;
}

/** Behaves as a server that never responds: rejects at the deadline. */
export async function untilDeadline(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw new MountError('TIMED_OUT', 'the server did not answer in time');
}
