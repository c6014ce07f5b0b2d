import { label } from '../cpi/objects/labels.ts';
import type { VmSecret } from '../cpi/vm/vms.ts';
import type { ResourceQuota } from '../cpi/vm/quota.ts';
import {
  type KubernetesApi,
  type ListQuery,
  type Resource,
  ifAllowed,
  ignoreNotFound,
} from '../kubernetes/api.ts';
import type { EventRecord } from '../kubernetes/describe-pod.ts';
import type { KubernetesObject, NamespacedObject, Stored } from '../kubernetes/object.ts';
import {
  events,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  resourceQuotas,
  secrets,
  volumeSnapshots,
} from '../kubernetes/resources.ts';
import type { Node } from '../kubernetes/types/node.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import type { PersistentVolume, PersistentVolumeClaim, VolumeSnapshot } from '../kubernetes/types/storage.ts';

/**
 * The CPI's namespaces: `kubernetes.namespace` and `kubernetes.disk_namespace`, which defaults to the first.
 */
export interface Namespaces {
  readonly vms: string;
  readonly disks: string;
}

/** The kinds of objects that are read. */
interface ObjectsByList {
  /** All pods of the CPI in the namespace of the VMs. */
  readonly vmPods: Pod;
  /** The Secret of each VM, which owns the VM's other objects. */
  readonly vmSecrets: VmSecret;
  /** Attachment pods and helper pods, in the namespace of the disks. */
  readonly diskPods: Pod;
  readonly claims: PersistentVolumeClaim;
  readonly snapshots: VolumeSnapshot;
  readonly policies: NamespacedObject;
  readonly definitions: NamespacedObject;
  readonly volumes: PersistentVolume;
  readonly nodes: Node;
  readonly quotas: ResourceQuota;
  readonly warnings: EventRecord;
  readonly diskWarnings: EventRecord;
}

export type ListName = keyof ObjectsByList;

/**
 * The objects of the CPI in a cluster, as they were read, and what explains their state. A list is undefined
 * if the account may not read it. A kind that the cluster does not have is an empty list.
 */
export type ObjectLists = {
  readonly [Name in ListName]: readonly Stored<ObjectsByList[Name]>[] | undefined;
};

export interface ListSource {
  readonly resource: Resource;
  readonly query: ListQuery;
}

export type ListReader = Pick<KubernetesApi, 'list' | 'groups'>;

const warningsOnly = 'type=Warning';

/** Returns the request for each list. */
export function listSources({ vms, disks }: Namespaces): Readonly<Record<ListName, ListSource>> {
  const managed = (resource: Resource, namespace: string, kind?: string): ListSource => ({
    resource,
    query: { namespace, labelSelector: kind === undefined ? label.kind : `${label.kind}=${kind}` },
  });
  return {
    vmPods: managed(pods, vms),
    vmSecrets: managed(secrets, vms, 'vm'),
    diskPods: managed(pods, disks),
    claims: managed(persistentVolumeClaims, disks, 'disk'),
    snapshots: managed(volumeSnapshots, disks),
    policies: managed(networkPolicies, vms, 'network'),
    definitions: managed(networkAttachmentDefinitions, vms, 'network'),
    volumes: { resource: persistentVolumes, query: {} },
    nodes: { resource: nodes, query: {} },
    quotas: { resource: resourceQuotas, query: { namespace: vms } },
    warnings: { resource: events, query: { namespace: vms, fieldSelector: warningsOnly } },
    diskWarnings: { resource: events, query: { namespace: disks, fieldSelector: warningsOnly } },
  };
}

/** The lists that `findOrphans` needs. */
export const orphanLists: readonly ListName[] = [
  'vmPods',
  'vmSecrets',
  'diskPods',
  'claims',
  'snapshots',
  'volumes',
];

/** The lists that `status` shows, and those that explain problems. */
export const statusLists: readonly ListName[] = [
  'vmPods',
  'vmSecrets',
  'diskPods',
  'claims',
  'snapshots',
  'policies',
  'definitions',
  'nodes',
  'quotas',
  'warnings',
  'diskWarnings',
];

/**
 * Reads the named lists, each once. The other lists are undefined. If several requests fail, rejects with the
 * error of the first name, and with that of the Secrets only if no other failed: it has no words of the
 * server, because they may quote a Secret.
 */
export async function readLists(
  api: ListReader,
  namespaces: Namespaces,
  names: readonly ListName[],
): Promise<ObjectLists> {
  const sources = listSources(namespaces);
  const results = await Promise.allSettled(
    names.map(async (name) => [name, await readList(api, sources[name])] as const),
  );
  const failures = results.flatMap((result, index) =>
    result.status === 'rejected' ? [{ ...result, isOfSecrets: names[index] === 'vmSecrets' }] : [],
  );
  const failure = failures.find(({ isOfSecrets }) => !isOfSecrets) ?? failures[0];
  if (failure !== undefined) throw failure.reason;
  const lists = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  return asObjectLists(Object.fromEntries(lists) as Partial<Record<ListName, readonly KubernetesObject[]>>);
}

/** The list of a kind that the cluster does not have. */
export const missingKind: readonly KubernetesObject[] = [];

/** Reads one list; undefined if the account may not read it. */
async function readList(
  api: ListReader,
  { resource, query }: ListSource,
): Promise<readonly KubernetesObject[] | undefined> {
  const existing = ignoreNotFound(api.list(resource, query));
  const list = await ifAllowed(existing.then((found) => found?.items ?? missingKind));
  if (list !== undefined || resource.group === '') return list;
  // Without a role for a kind, the API server answers 403 also if it does not have the kind.
  const groups = await ifAllowed(api.groups());
  return groups?.includes(resource.group) === false ? missingKind : undefined;
}

/**
 * Returns the lists with the types of their kinds. The API server guarantees that a list has objects of its
 * kind only.
 */
export function asObjectLists(
  lists: Partial<Record<ListName, readonly KubernetesObject[] | undefined>>,
): ObjectLists {
  const none: Record<ListName, undefined> = {
    vmPods: undefined,
    vmSecrets: undefined,
    diskPods: undefined,
    claims: undefined,
    snapshots: undefined,
    policies: undefined,
    definitions: undefined,
    volumes: undefined,
    nodes: undefined,
    quotas: undefined,
    warnings: undefined,
    diskWarnings: undefined,
  };
  return { ...none, ...lists } as ObjectLists;
}
