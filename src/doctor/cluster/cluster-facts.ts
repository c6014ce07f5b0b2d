import { isSameAddress } from '../../bosh/manifest/ip-range.ts';
import { fixedIpNetwork, type PinningNetwork } from '../../kubernetes/address-pinning.ts';
import { isRoleRefusal } from '../../cpi/vm/quota.ts';
import { ifAllowed, type Resource } from '../../kubernetes/api.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { RestApi } from '../../kubernetes/client/rest-api.ts';
import {
  daemonSets,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
  services,
  storageClasses,
} from '../../kubernetes/resources.ts';
import type { Node } from '../../kubernetes/types/node.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import type { StorageClass } from '../../kubernetes/types/storage.ts';
import { tryPods, type PodAdmission, type VmNamespaces } from './pod-admission.ts';

/** The verbs of the API that a check uses which changes nothing. */
export type ClusterApi = Pick<
  RestApi,
  'get' | 'list' | 'dryRunCreate' | 'review' | 'groups' | 'version' | 'serverTime'
>;

/** The name of the CPI's service account in manifests/rbac. */
export const accountName = 'bosh-cpi';

/** The namespace of VMs that manifests/cluster creates. */
export const clusterNamespace = 'bosh';

/** Facts about the cluster. Undefined: the user may not read it. */
export interface ClusterFacts extends VmNamespaces {
  /** A version such as `v1.36.3`. */
  readonly version: string | undefined;
  /** The API groups that the cluster serves. */
  readonly groups: readonly string[] | undefined;
  /** False: the namespace of the VMs does not exist. */
  readonly hasNamespace: boolean | undefined;
  readonly hasDiskNamespace: boolean | undefined;
  /** False: the namespace of the VMs has no service account of the CPI (`accountName`). */
  readonly hasAccount: boolean | undefined;
  /** In a namespace that does not exist, the API rejects each pod. */
  readonly admission: PodAdmission;
  readonly classes: readonly StorageClass[] | undefined;
  readonly fixedIpSupport: PinningNetwork | 'static-ip' | 'none' | undefined;
  readonly nodes: readonly Node[] | undefined;
  /** The pods of all namespaces. */
  readonly pods: readonly Pod[] | undefined;
  readonly services: readonly Service[] | undefined;
}

/** Returns whether it is an embedded cluster, whose nodes give each VM its address and run no images. */
export const isEmbedded = ({ version }: Pick<ClusterFacts, 'version'>): boolean =>
  version?.endsWith('+bosh-kubernetes') === true;

/** Reads all facts about a cluster for VMs and disks in these namespaces. Changes nothing. */
export async function readClusterFacts(api: ClusterApi, vms: VmNamespaces): Promise<ClusterFacts> {
  const { namespace, diskNamespace } = vms;
  const [
    version,
    groups,
    hasNamespace,
    hasDiskNamespace,
    hasAccount,
    classes,
    allNodes,
    allPods,
    allServices,
  ] = await Promise.all([
    ifAllowed(api.version()),
    ifAllowed(api.groups()),
    exists(api, { resource: namespaces, name: namespace }),
    exists(api, { resource: namespaces, name: diskNamespace }),
    exists(api, { resource: serviceAccounts, namespace, name: accountName }),
    ifAllowed(api.list<StorageClass>(storageClasses)),
    ifAllowed(api.list<Node>(nodes)),
    ifAllowed(api.list<Pod>(pods)),
    ifAllowed(api.list<Service>(services)),
  ]);
  return {
    ...{ version, groups, namespace, diskNamespace, hasNamespace, hasDiskNamespace },
    // the account cannot exist without its namespace, also if the user may not read it
    hasAccount: hasNamespace === false ? false : hasAccount,
    admission: await tryPods(api, vms),
    classes: classes?.items,
    fixedIpSupport: await readFixedIpSupport(api, groups),
    nodes: allNodes?.items,
    pods: allPods?.items,
    services: allServices?.items,
  };
}

/**
 * The message with which the API rejects a Service; '' if it accepts it; undefined if the user may not create
 * Services.
 */
export type ServiceRejection = string | undefined;

/** Tries a Service with that cluster IP. '' also if the facts show that a Service has the address already. */
export function tryClusterIp(
  api: ClusterApi,
  facts: ClusterFacts,
  address: string,
): Promise<ServiceRejection> {
  const isTaken = facts.services?.some(({ spec }) => isSameAddress(spec.clusterIP ?? '', address));
  return isTaken === true ? Promise.resolve('') : tryService(api, facts, { clusterIP: address });
}

/** Creates a Service in a dry run, in the namespace `default` if that of the VMs does not exist. */
export async function tryService(
  api: ClusterApi,
  { hasNamespace, namespace }: ClusterFacts,
  spec: Service['spec'],
): Promise<ServiceRejection> {
  const service: Service = {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: {
      name: '',
      generateName: 'dry-run-',
      namespace: hasNamespace === false ? 'default' : namespace,
    },
    spec: { ports: [{ port: 25555 }], ...spec },
  };
  try {
    await api.dryRunCreate(services, service);
    return '';
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { message } = error;
    return isRoleRefusal(error) ? undefined : message;
  }
}

async function readFixedIpSupport(
  api: ClusterApi,
  groups: readonly string[] | undefined,
): Promise<ClusterFacts['fixedIpSupport']> {
  const found = fixedIpNetwork(groups ?? []);
  if (found !== undefined) return found;
  const daemonSet = { resource: daemonSets, namespace: 'kube-system', name: 'static-ip' };
  const hasPlugin = await exists(api, daemonSet);
  if (hasPlugin === true) return 'static-ip';
  return hasPlugin === undefined || groups === undefined ? undefined : 'none';
}

async function exists(
  api: ClusterApi,
  reference: { resource: Resource; namespace?: string; name: string },
): Promise<boolean | undefined> {
  try {
    return (await ifAllowed(api.get(reference))) === undefined ? undefined : true;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}
