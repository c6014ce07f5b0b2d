import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import type { Resource } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { NamespacedObject } from '../../../src/kubernetes/object.ts';
import type { ProjectedVolume, Volume } from '../../../src/kubernetes/types/pod.ts';
import { parseQuantity } from '../../../src/kubernetes/types/quantity.ts';
import { configMaps, secrets } from '../../../src/kubernetes/resources.ts';
import { volumeDirectory, type NodeLayout, toLocalPath, apiKubeletRoot } from '../node-paths.ts';
import type { FstabEntry } from '../mounts.ts';
import { resolveVolumePath } from './claim-path.ts';
import type { NodeApi } from '../node-api.ts';
import {
  resolveSources,
  type PodIdentity,
  type KeyedData,
  projectFiles,
  writeProjectedFiles,
} from './projected-volume.ts';
import { VolumeError } from './sub-path.ts';

export interface ReadyVolume {
  readonly path: string;
  readonly readOnly: boolean;
}

/** The steps that create a volume. The sources of the volume have been read already. */
export interface PlannedVolume extends ReadyVolume {
  /** Made at `path`, unless something is mounted there. */
  readonly mount?: Omit<FstabEntry, 'target'>;
  /** Writes the files. Idempotent. */
  readonly fill?: () => Promise<void>;
}

/** A Secret or ConfigMap, the source of a pod's volume. */
interface DataObject extends NamespacedObject {
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

/**
 * Plans the volumes of pods by their sources: reads the objects and claims that they name. A plan changes
 * nothing; PodVolumes applies it.
 */
export class VolumePlanner {
  readonly #api: NodeApi;
  readonly #layout: NodeLayout;

  constructor(api: NodeApi, layout: NodeLayout) {
    this.#api = api;
    this.#layout = layout;
  }

  /** Returns how to create a volume of the pod. Rejects with VolumeError if its source is not ready. */
  async plan(pod: PodIdentity, volume: Volume): Promise<PlannedVolume> {
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
      return this.planProjected(pod, volume.name, volume.projected);
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

  /** Returns how to create a projected volume, with new tokens. */
  async planProjected(pod: PodIdentity, name: string, source: ProjectedVolume): Promise<PlannedVolume> {
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
