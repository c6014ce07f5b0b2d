import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Resource } from '../../../kubernetes/api.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { Pod, ProjectedVolume, Volume } from '../../../kubernetes/pod.ts';
import { parseQuantity } from '../../../kubernetes/quantity.ts';
import { configMaps, secrets } from '../../../kubernetes/resources.ts';
import { podDirectory, volumeDirectory, type NodeLayout } from '../layout.ts';
import { mount, MountError, unmount } from '../mounts/mount-command.ts';
import {
  mountsAtOrBelow,
  mountsOfPlace,
  placeOf,
  readAllMountTables,
  readMountTable,
} from '../mounts/mount-table.ts';
import { safeRemove } from '../removal/safe-remove.ts';
import { mountNamespaceOf } from '../runtime/kill-namespace.ts';
import { findClaimPath } from './claim-path.ts';
import type { NodeApi } from '../node-api.ts';
import { projectAll } from './project-all.ts';
import type { KeyedData } from './project-all.ts';
import { projectFiles, writeProjectedFiles } from './projected-files.ts';
import { VolumeError } from './volume-error.ts';

export interface ReadyVolume {
  readonly path: string;
  readonly readOnly: boolean;
}

/** What the volumes of a pod are made from. */
export interface PodIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly account: string;
}

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

/** Makes the volumes of pods below the kubelet directory, as kubelet lays them out, and takes them down again. */
export class PodVolumes {
  readonly #api: NodeApi;
  readonly #layout: NodeLayout;

  constructor(api: NodeApi, layout: NodeLayout) {
    this.#api = api;
    this.#layout = layout;
  }

  /** Idempotent: what stands already is kept. Rejects with VolumeError where a volume is not ready. */
  async setUp(pod: Pod): Promise<Map<string, ReadyVolume>> {
    const identity = identify(pod);
    const ready = new Map<string, ReadyVolume>();
    for (const volume of pod.spec.volumes ?? []) {
      ready.set(volume.name, await this.#setUpOne(identity, volume));
    }
    return ready;
  }

  /** Writes the tokens of the pod's volumes anew; what else they hold stays. */
  async renewTokens(pod: Pod): Promise<void> {
    const identity = identify(pod);
    for (const { name, projected } of pod.spec.volumes ?? []) {
      const sources = projected?.sources?.filter((source) => source.serviceAccountToken !== undefined) ?? [];
      if (sources.length > 0) await this.#projected(identity, name, { ...projected, sources });
    }
  }

  /**
   * Idempotent. Unmounts, never lazily, then removes the pod's directory. Rejects with MountError (`busy`) and
   * everything in place while something still uses a volume.
   */
  async tearDown(uid: string): Promise<void> {
    await this.unmountAll(uid);
    const directory = podDirectory(this.#layout, uid);
    await refuseUsed(directory);
    await safeRemove(directory);
  }

  /** The first half of `tearDown`: nothing of the pod is mounted any more, its directories are still there. */
  async unmountAll(uid: string): Promise<void> {
    const volumes = join(podDirectory(this.#layout, uid), 'volumes');
    for (const plugin of await list(volumes)) {
      for (const name of await list(join(volumes, plugin))) {
        const directory = join(volumes, plugin, name);
        await unmountAbandoned(directory);
        await unmount(directory);
      }
    }
  }

  /** Uids of all pods that have a directory here. */
  present(): Promise<string[]> {
    return list(join(this.#layout.kubelet, 'pods'));
  }

  async #setUpOne(pod: PodIdentity, volume: Volume): Promise<ReadyVolume> {
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

  async #emptyDir(
    pod: PodIdentity,
    name: string,
    source: NonNullable<Volume['emptyDir']>,
  ): Promise<ReadyVolume> {
    const path = volumeDirectory(this.#layout, pod.uid, plugins.emptyDir, name);
    if (source.medium === 'Memory') {
      const size = source.sizeLimit === undefined ? [] : [`size=${sizeInBytes(source.sizeLimit)}`];
      await mountOnce(path, ['-t', 'tmpfs', '-o', ['mode=0777', ...size].join(','), 'tmpfs', path]);
      return { path, readOnly: false };
    }
    if (source.sizeLimit !== undefined) {
      throw new VolumeError(
        `volume ${name}: the embedded node cannot limit the size of a directory (sizeLimit)`,
      );
    }
    await mkdir(path, { recursive: true });
    await chmod(path, 0o777);
    return { path, readOnly: false };
  }

  async #projection(
    pod: PodIdentity,
    name: string,
    kind: { plugin: string; resource: Resource; source: { name: string } & NonNullable<Volume['configMap']> },
  ): Promise<ReadyVolume> {
    const { plugin, resource, source } = kind;
    const data = await this.#data(resource, pod.namespace, source);
    const path = volumeDirectory(this.#layout, pod.uid, plugin, name);
    await mountOnce(path, ['-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', path]);
    await writeProjectedFiles(path, projectFiles(source, data));
    return { path, readOnly: true };
  }

  async #projected(pod: PodIdentity, name: string, source: ProjectedVolume): Promise<ReadyVolume> {
    const read = (resource: Resource, from: { name: string; optional?: boolean }): Promise<KeyedData> =>
      this.#data(resource, pod.namespace, from);
    const files = await projectAll(pod, source, { api: this.#api, read });
    const path = volumeDirectory(this.#layout, pod.uid, plugins.projected, name);
    await mountOnce(path, ['-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', path]);
    await writeProjectedFiles(path, files);
    return { path, readOnly: true };
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

  async #hostPath(source: NonNullable<Volume['hostPath']>): Promise<ReadyVolume> {
    const { path, type = '' } = source;
    if (!path.startsWith(`${this.#layout.kubelet}/`)) {
      throw new VolumeError(
        `hostPath ${path} is refused: the embedded node gives pods nothing outside ${this.#layout.kubelet}`,
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
    throw new VolumeError(`hostPath type check failed: ${path} is not a directory`);
  }

  async #claim(pod: PodIdentity, name: string, owner?: string): Promise<ReadyVolume> {
    const claim = await findClaimPath(
      this.#api,
      { namespace: pod.namespace, name, owner },
      this.#layout.volumes,
    );
    const path = volumeDirectory(this.#layout, pod.uid, plugins.claim, claim.volumeName);
    await mountOnce(path, ['--bind', claim.path, path]);
    return { path, readOnly: false };
  }
}

function identify(pod: Pod): PodIdentity {
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

async function mountOnce(path: string, args: readonly string[]): Promise<void> {
  await mkdir(path, { recursive: true });
  const table = await readMountTable();
  if (!table.some((entry) => entry.target === path)) {
    await mount(...args);
  }
}

/**
 * Unmounts, never lazily, what another pod mounted into that volume and nobody has any more: a pod deleted by force
 * leaves its mounts behind. What a living pod holds is that pod's to take away.
 */
async function unmountAbandoned(directory: string): Promise<void> {
  const below = mountsAtOrBelow(await readMountTable(), directory).filter(
    ({ target }) => target !== directory,
  );
  if (below.length === 0) {
    return;
  }
  const own = mountNamespaceOf(process.pid);
  const others = (await readAllMountTables()).filter(({ pid }) => mountNamespaceOf(pid) !== own);
  for (const { device, root, target } of below.toReversed()) {
    const place = { device, path: root };
    if (!others.some(({ mounts }) => mountsOfPlace(mounts, place).length > 0)) {
      await unmount(target);
    }
  }
}

/** Another pod may have bound a directory of this one (hostPath): a mount that this namespace does not show. */
async function refuseUsed(directory: string): Promise<void> {
  if ((await list(directory)).length === 0) {
    return;
  }
  const place = placeOf(await readMountTable(), directory);
  for (const { pid, mounts } of await readAllMountTables()) {
    const used = mountsOfPlace(mounts, place)[0];
    if (used !== undefined) {
      throw new MountError(`${directory}: target is busy: process ${pid} has ${used.root} mounted`, true);
    }
  }
}

async function list(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}
