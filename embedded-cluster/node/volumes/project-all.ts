import type { Resource } from '../../../src/kubernetes/api.ts';
import type { Pod, ProjectedVolume, VolumeProjection } from '../../../src/kubernetes/types/pod.ts';
import { configMaps, secrets } from '../../../src/kubernetes/resources.ts';
import type { NodeApi } from '../node-api.ts';
import { projectFiles, type ProjectedFile } from './projected-files.ts';
import { VolumeError } from './volume-error.ts';

export interface PodIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly account: string;
}

export type KeyedData = ReadonlyMap<string, Uint8Array>;

/**
 * The part of a token's lifetime after which kubelet requests the next one (kubernetes: pkg/kubelet/token).
 */
const renewAt = 0.8;
const defaultSeconds = 3600;

/**
 * Returns the milliseconds after which the tokens of a pod must be renewed; undefined if the pod has none.
 */
export function tokenRenewal({ spec }: Pod): number | undefined {
  const lives = (spec.volumes ?? [])
    .flatMap(({ projected }) => projected?.sources ?? [])
    .flatMap(({ serviceAccountToken: token }) =>
      token === undefined ? [] : [token.expirationSeconds ?? defaultSeconds],
    );
  return lives.length === 0 ? undefined : Math.min(...lives) * 1000 * renewAt;
}

export interface ProjectionSources {
  readonly api: Pick<NodeApi, 'requestToken'>;
  readonly read: (resource: Resource, from: { name: string; optional?: boolean }) => Promise<KeyedData>;
}

/**
 * Returns the files of a projected volume, with new tokens. Rejects with VolumeError, and with ApiError for a
 * token.
 */
export async function resolveSources(
  pod: PodIdentity,
  { sources = [], defaultMode = 0o644 }: ProjectedVolume,
  from: ProjectionSources,
): Promise<ProjectedFile[]> {
  const files: ProjectedFile[] = [];
  for (const source of sources) files.push(...(await resolveSource(pod, source, { ...from, defaultMode })));
  return files;
}

async function resolveSource(
  pod: PodIdentity,
  { serviceAccountToken: token, configMap, secret, downwardAPI }: VolumeProjection,
  { api, read, defaultMode }: ProjectionSources & { readonly defaultMode: number },
): Promise<ProjectedFile[]> {
  if (configMap !== undefined)
    return projectFiles({ ...configMap, defaultMode }, await read(configMaps, configMap));
  if (secret !== undefined) return projectFiles({ ...secret, defaultMode }, await read(secrets, secret));
  if (downwardAPI !== undefined) {
    const items = downwardAPI.items ?? [];
    const data = items.map(({ path, fieldRef }) => [path, fieldOf(pod, fieldRef?.fieldPath)] as const);
    return projectFiles(
      { items: items.map((item) => ({ ...item, key: item.path })), defaultMode },
      new Map(data),
    );
  }
  if (token === undefined) throw new VolumeError('a source of a projected volume names nothing');
  const { status } = await api.requestToken(pod.namespace, pod.account, {
    spec: {
      ...(token.audience === undefined ? {} : { audiences: [token.audience] }),
      ...(token.expirationSeconds === undefined ? {} : { expirationSeconds: token.expirationSeconds }),
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid },
    },
  });
  return projectFiles(
    { items: [{ key: 'token', path: token.path }], defaultMode },
    new Map([['token', Buffer.from(status.token)]]),
  );
}

function fieldOf(pod: PodIdentity, path: string | undefined): Uint8Array {
  switch (path) {
    case 'metadata.name':
      return Buffer.from(pod.name);
    case 'metadata.namespace':
      return Buffer.from(pod.namespace);
    case 'metadata.uid':
      return Buffer.from(pod.uid);
    default:
      throw new VolumeError(`the downward API of the embedded node does not have ${path ?? 'nothing'}`);
  }
}
