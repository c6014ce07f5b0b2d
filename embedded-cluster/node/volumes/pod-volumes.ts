import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Resource } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod, ProjectedVolume, Volume } from '../../../src/kubernetes/types/pod.ts';
import { parseQuantity } from '../../../src/kubernetes/types/quantity.ts';
import { configMaps, secrets } from '../../../src/kubernetes/resources.ts';
import { podDirectory, volumeDirectory, type NodeLayout } from '../layout.ts';
import type { FstabEntry } from '../mounts/fstab.ts';
import { mountAll, unmount } from '../mounts/mount-command.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { toLocalPath, apiKubeletRoot } from '../paths-in-objects.ts';
import { resolveVolumePath } from './claim-path.ts';
import { listDirectory } from './list-directory.ts';
import { assertNotMountedElsewhere, unmountStale } from './mounts-of-others.ts';
import type { NodeApi } from '../node-api.ts';
import { resolveSources, type PodIdentity, type KeyedData } from './project-all.ts';
import { projectFiles, writeProjectedFiles } from './projected-files.ts';
import { VolumeError } from './volume-error.ts';

export interface ReadyVolume {
  readonly path: string;
  readonly readOnly: boolean;
}

/** How to create a volume. Its sources have been read already. */
interface PlannedVolume extends ReadyVolume {
  /** Made at `path`, unless something is mounted there. */
  readonly mount?: Omit<FstabEntry, 'target'>;
  /** Writes the files. Idempotent. */
  readonly fill?: () => Promise<void>;
}

/** A Secret or ConfigMap, the source of a pod's volume. */
interface DataObject extends KubernetesObject {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

const plugins = {
  emptyDir: 'kubernetes.io~empty-dir',
  secret: 'kubernetes.io~secret',
  configMap: 'kubernetes.io~configmap',
  claim: 'kubernetes.io~local-volume',
  projected: 'kubernetes.io~projected',
} as const;

/** Creates the volumes of pods below the kubelet directory, in kubelet's layout, and removes them. */
export class PodVolumes {
  readonly #api: NodeApi;
  readonly #layout: NodeLayout;

  constructor(api: NodeApi, layout: NodeLayout) {
    this.#api = api;
    this.#layout = layout;
  }

  /**
   * Creates the volumes of a pod. Idempotent: existing ones are kept. Rejects with VolumeError if a volume is
   * not ready.
   */
  async setUp(pod: Pod): Promise<Map<string, ReadyVolume>> {
    const identity = podIdentity(pod);
    const planned = new Map<string, PlannedVolume>();
    for (const volume of pod.spec.volumes ?? []) {
      planned.set(volume.name, await this.#planOne(identity, volume));
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
        await this.#mount(identity, [await this.#projected(identity, name, { ...projected, sources })]);
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

  async #planOne(pod: PodIdentity, volume: Volume): Promise<PlannedVolume> {
    if (volume.emptyDir !== undefined) {
      return this.#emptyDir(pod, volume.name, volume.emptyDir);
    }
    if (volume.secret !== undefined) {
      const source = { ...volume.secret, name: volume.secret.secretName };
      return this.#projection(pod, volume.name, { plugin: plugins.secret, resource: secrets, source });
    }
    if (volume.configMap !== undefined) {
      const source = volume.configMap;
      return this.#projection(pod, volume.name, { plugin: plugins.configMap, resource: configMaps, source });
    }
    if (volume.projected !== undefined) {
      return this.#projected(pod, volume.name, volume.projected);
    }
    if (volume.hostPath !== undefined) {
      return this.#hostPath(volume.hostPath);
    }
    if (volume.persistentVolumeClaim !== undefined) {
      const { claimName, readOnly = false } = volume.persistentVolumeClaim;
      return { ...(await this.#claim(pod, claimName)), readOnly };
    }
    if (volume.ephemeral !== undefined) {
      return this.#claim(pod, `${pod.name}-${volume.name}`, pod.uid);
    }
    throw new VolumeError(`volume ${volume.name} is of a kind that the embedded node does not have`);
  }

  #emptyDir(pod: PodIdentity, name: string, source: NonNullable<Volume['emptyDir']>): PlannedVolume {
    const path = volumeDirectory(this.#layout, pod.uid, plugins.emptyDir, name);
    if (source.medium === 'Memory') {
      const size = source.sizeLimit === undefined ? [] : [`size=${sizeInBytes(source.sizeLimit)}`];
      return { path, readOnly: false, mount: tmpfs(['mode=0777', ...size]) };
    }
    if (source.sizeLimit !== undefined) {
      throw new VolumeError(
        `volume ${name}: the embedded node cannot limit the size of a directory (sizeLimit)`,
      );
    }
    const fill = async (): Promise<void> => {
      await mkdir(path, { recursive: true });
      await chmod(path, 0o777);
    };
    return { path, readOnly: false, fill };
  }

  async #projection(
    pod: PodIdentity,
    name: string,
    kind: { plugin: string; resource: Resource; source: { name: string } & NonNullable<Volume['configMap']> },
  ): Promise<PlannedVolume> {
    const { plugin, resource, source } = kind;
    const data = await this.#data(resource, pod.namespace, source);
    const path = volumeDirectory(this.#layout, pod.uid, plugin, name);
    const files = projectFiles(source, data);
    return {
      path,
      readOnly: true,
      mount: tmpfs(['mode=0755']),
      fill: () => writeProjectedFiles(path, files),
    };
  }

  async #projected(pod: PodIdentity, name: string, source: ProjectedVolume): Promise<PlannedVolume> {
    const read = (resource: Resource, from: { name: string; optional?: boolean }): Promise<KeyedData> =>
      this.#data(resource, pod.namespace, from);
    const files = await resolveSources(pod, source, { api: this.#api, read });
    const path = volumeDirectory(this.#layout, pod.uid, plugins.projected, name);
    return {
      path,
      readOnly: true,
      mount: tmpfs(['mode=0755']),
      fill: () => writeProjectedFiles(path, files),
    };
  }

  async #data(
    resource: Resource,
    namespace: string,
    source: { name: string; optional?: boolean },
  ): Promise<Map<string, Uint8Array>> {
    try {
      const object = await this.#api.get<DataObject>({ resource, namespace, name: source.name });
      const encoding = resource === secrets ? 'base64' : 'utf8';
      return new Map([
        ...Object.entries(object.data ?? {}).map(
          ([key, value]) => [key, Buffer.from(value, encoding)] as const,
        ),
        ...Object.entries(object.binaryData ?? {}).map(
          ([key, value]) => [key, Buffer.from(value, 'base64')] as const,
        ),
      ]);
    } catch (error) {
      if (!isApiError(error, 404)) {
        throw error;
      }
      if (source.optional === true) {
        return new Map();
      }
      throw new VolumeError(`${resource.plural.slice(0, -1)} "${source.name}" not found`, { cause: error });
    }
  }

  async #hostPath(source: NonNullable<Volume['hostPath']>): Promise<PlannedVolume> {
    const { type = '' } = source;
    const path = toLocalPath(this.#layout, source.path);
    if (!path.startsWith(`${this.#layout.kubelet}/`)) {
      throw new VolumeError(
        `hostPath ${source.path} is refused: the embedded node gives pods nothing outside ${apiKubeletRoot}`,
      );
    }
    if (type !== '' && type !== 'Directory') {
      throw new VolumeError(`hostPath type ${type} is not something that the embedded node does`);
    }
    try {
      if ((await stat(path)).isDirectory() && (await realpath(path)) === path) {
        return { path, readOnly: false };
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw error;
      }
    }
    throw new VolumeError(`hostPath type check failed: ${source.path} is not a directory`);
  }

  async #claim(pod: PodIdentity, name: string, owner?: string): Promise<PlannedVolume> {
    const claim = await resolveVolumePath(this.#api, { namespace: pod.namespace, name, owner }, this.#layout);
    const path = volumeDirectory(this.#layout, pod.uid, plugins.claim, claim.volumeName);
    return { path, readOnly: false, mount: { source: claim.path, type: 'none', options: ['bind'] } };
  }
}

function podIdentity(pod: Pod): PodIdentity {
  const { uid, name, namespace } = pod.metadata;
  if (uid === undefined || name === undefined || namespace === undefined || !/^[\w-]+$/.test(uid)) {
    throw new Error('a pod without uid, name or namespace');
  }
  return { uid, name, namespace, account: pod.spec.serviceAccountName ?? 'default' };
}

function sizeInBytes(quantity: string): bigint {
  const bytes = parseQuantity(quantity);
  if (bytes === undefined || bytes <= 0n) {
    throw new VolumeError(`sizeLimit ${JSON.stringify(quantity)} is not a size`);
  }
  return bytes;
}

const tmpfs = (options: readonly string[]): Omit<FstabEntry, 'target'> => ({
  ...{ source: 'tmpfs', type: 'tmpfs' },
  options,
});
