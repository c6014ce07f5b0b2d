import { VolumePlanner, type PlannedVolume, type ReadyVolume } from './volume-planner.ts';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { podDirectory, type NodeLayout } from '../node-paths.ts';
import { type FstabEntry, mountAll, unmount } from '../mounts.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { listDirectory, assertNotMountedElsewhere, unmountStale } from './stale-mounts.ts';
import type { NodeApi } from '../node-api.ts';
import type { PodIdentity } from './projected-volume.ts';

/** Creates the volumes of pods below the kubelet directory, in kubelet's layout, and removes them. */
export class PodVolumes {
  readonly #layout: NodeLayout;
  readonly #planner: VolumePlanner;

  constructor(api: NodeApi, layout: NodeLayout) {
    this.#layout = layout;
    this.#planner = new VolumePlanner(api, layout);
  }

  /**
   * Creates the volumes of a pod. Idempotent: existing ones are kept. Rejects with VolumeError if a volume is
   * not ready.
   */
  async setUp(pod: Pod): Promise<Map<string, ReadyVolume>> {
    const identity = podIdentity(pod);
    const planned = new Map<string, PlannedVolume>();
    for (const volume of pod.spec.volumes ?? []) {
      planned.set(volume.name, await this.#planner.plan(identity, volume));
    }
    await this.#mount(identity, [...planned.values()]);
    return new Map([...planned].map(([name, { path, readOnly }]) => [name, { path, readOnly }]));
  }

  /** Writes new tokens to the pod's volumes; their other files stay. */
  async renewTokens(pod: Pod): Promise<void> {
    const identity = podIdentity(pod);
    for (const { name, projected } of pod.spec.volumes ?? []) {
      const sources = projected?.sources?.filter((source) => source.serviceAccountToken !== undefined) ?? [];
      if (sources.length > 0)
        await this.#mount(identity, [
          await this.#planner.planProjected(identity, name, { ...projected, sources }),
        ]);
    }
  }

  /**
   * Unmounts, never lazily, then removes the pod's directory. Idempotent. Rejects with MountError (`busy`),
   * and removes nothing, while a process or a mount still uses a volume.
   */
  async tearDown(uid: string): Promise<void> {
    await this.unmountAll(uid);
    const directory = podDirectory(this.#layout, uid);
    await assertNotMountedElsewhere(directory);
    await safeRemove(directory);
  }

  /** The first half of `tearDown`: unmounts all volumes of the pod, but keeps its directories. */
  async unmountAll(uid: string): Promise<void> {
    const volumes = join(podDirectory(this.#layout, uid), 'volumes');
    const directories: string[] = [];
    for (const plugin of await listDirectory(volumes)) {
      for (const name of await listDirectory(join(volumes, plugin)))
        directories.push(join(volumes, plugin, name));
    }
    await unmountStale(directories);
    await unmount(...directories);
  }

  /** Returns the uids of all pods that have a directory here. */
  mountedVolumes(): Promise<string[]> {
    return listDirectory(join(this.#layout.kubelet, 'pods'));
  }

  /**
   * Makes all mounts with one process: each process costs as much time as the node's other work for the pod.
   */
  async #mount(pod: PodIdentity, planned: readonly PlannedVolume[]): Promise<void> {
    const table = await readMountTable();
    const missing: FstabEntry[] = [];
    for (const { path, mount } of planned) {
      if (mount === undefined) continue;
      await mkdir(path, { recursive: true });
      if (!table.some((entry) => entry.target === path)) missing.push({ ...mount, target: path });
    }
    if (missing.length > 0) await mountAll(missing, join(this.#layout.plans, `${pod.uid}.fstab`));
    for (const { fill } of planned) await fill?.();
  }
}

function podIdentity(pod: Pod): PodIdentity {
  const { uid, name, namespace } = pod.metadata;
  if (uid === undefined || name === undefined || namespace === undefined || !/^[\w-]+$/.test(uid)) {
    throw new Error('a pod without uid, name or namespace');
  }
  return { uid, name, namespace, account: pod.spec.serviceAccountName ?? 'default' };
}
