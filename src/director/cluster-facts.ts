import { isSameAddress } from '../bosh/manifest/ip-range.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import { fixedIpNetwork, type PinningNetwork } from '../kubernetes/address-pinning.ts';
import { type Resource, ifAllowed } from '../kubernetes/api.ts';
import type { RestApi } from '../kubernetes/client/rest-api.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import {
  daemonSets,
  namespaces,
  nodes,
  pods,
  selfSubjectAccessReviews,
  serviceAccounts,
  services,
  storageClasses,
} from '../kubernetes/resources.ts';
import type { Node } from '../kubernetes/types/node.ts';
import type { Service } from '../kubernetes/types/service.ts';
import type { StorageClass } from '../kubernetes/types/storage.ts';
import type { Permission } from './required-permissions.ts';

/** The verbs of the API that `director init` uses. It changes nothing. */
export type DirectorApi = Pick<RestApi, 'get' | 'list' | 'dryRunCreate' | 'review' | 'groups' | 'version'>;

/** The name of the CPI's service account in manifests/rbac. */
export const accountName = 'bosh-cpi';

/** The namespace of VMs that manifests/cluster creates. */
export const clusterNamespace = 'bosh';

/** Facts about the cluster. Undefined: the user may not read it. */
export interface DirectorFacts {
  /** A version such as `v1.36.3`. */
  readonly version: string;
  /** The namespace of the director; it may not exist yet. */
  readonly namespace: string;
  readonly hasNamespace: boolean;
  readonly hasAccount: boolean;
  /**
   * The message with which admission rejects a privileged pod; '' if it admits one; undefined if the user may
   * not create pods.
   */
  readonly privilegedPodRejection: string | undefined;
  readonly classes: readonly StorageClass[] | undefined;
  readonly fixedIpSupport: PinningNetwork | 'static-ip' | undefined;
  readonly nodes: readonly Node[] | undefined;
  /** The pods of all namespaces. */
  readonly pods: readonly Pod[] | undefined;
  readonly services: readonly Service[] | undefined;
}

/** Reads all facts about a cluster for a director in that namespace. Changes nothing. */
export async function readDirectorFacts(api: DirectorApi, namespace: string): Promise<DirectorFacts> {
  const [version, hasNamespace, hasAccount, classes, fixedIpSupport, allNodes, allPods, allServices] =
    await Promise.all([
      api.version(),
      exists(api, { resource: namespaces, name: namespace }),
      exists(api, { resource: serviceAccounts, namespace, name: accountName }),
      ifAllowed(api.list<StorageClass>(storageClasses)),
      readFixedIpSupport(api),
      ifAllowed(api.list<Node>(nodes)),
      ifAllowed(api.list<Pod>(pods)),
      ifAllowed(api.list<Service>(services)),
    ]);
  return {
    version,
    namespace,
    // if the user may not read the namespace, the check of rights reports that; the account cannot exist
    // without its namespace
    hasNamespace: hasNamespace ?? true,
    hasAccount: hasAccount ?? false,
    privilegedPodRejection: (hasNamespace ?? true) ? await tryPrivilegedPod(api, namespace) : '',
    classes: classes?.items,
    fixedIpSupport,
    nodes: allNodes?.items,
    pods: allPods?.items,
    services: allServices?.items,
  };
}

/** A SelfSubjectAccessReview. */
interface Review {
  readonly spec: object;
  readonly status?: { readonly allowed: boolean };
}

/** Returns those of the permissions that the user does not have. */
export async function readDeniedPermissions(
  api: DirectorApi,
  permissions: readonly Permission[],
): Promise<Permission[]> {
  const isAllowed = await Promise.all(
    permissions.map(async (permission) => {
      const review: Review = {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', metadata: {} },
        spec: { resourceAttributes: permission },
      };
      const { status } = await api.review<Review>(selfSubjectAccessReviews, review);
      return status?.allowed === true;
    }),
  );
  return permissions.filter((_, index) => isAllowed[index] === false);
}

/**
 * Returns the message with which the API rejects a Service with that address; '' if it accepts one, or if the
 * facts show that a Service has the address already.
 */
export function tryClusterIp(api: DirectorApi, facts: DirectorFacts, address: string): Promise<string> {
  const isTaken = facts.services?.some(({ spec }) => isSameAddress(spec.clusterIP ?? '', address));
  return isTaken === true ? Promise.resolve('') : tryService(api, facts, { clusterIP: address });
}

/** Creates a Service in a dry run. Returns the message with which the API rejects it; '' if it accepts it. */
export async function tryService(
  api: DirectorApi,
  { hasNamespace, namespace }: DirectorFacts,
  spec: Service['spec'],
): Promise<string> {
  const service: Service = {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: { name: '', generateName: 'director-init-', namespace: hasNamespace ? namespace : 'default' },
    spec: { ports: [{ port: 25555 }], ...spec },
  };
  try {
    await api.dryRunCreate(services, service);
    return '';
  } catch (error) {
    if (!isApiError(error)) throw error;
    return error.message;
  }
}

/**
 * Creates, in a dry run, a pod of the CPI's profile `privileged` with the host path that an attachment pod
 * mounts. Returns the rejection as in `privilegedPodRejection`.
 */
async function tryPrivilegedPod(api: DirectorApi, namespace: string): Promise<string | undefined> {
  const pod: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: '', generateName: 'director-init-', namespace },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: 'vm', image: 'stemcell', securityContext: { privileged: true } }],
      volumes: [{ name: 'kubelet', hostPath: { path: '/var/lib/kubelet' } }],
    },
  };
  try {
    await api.dryRunCreate(pods, pod);
    return '';
  } catch (error) {
    if (!isApiError(error)) throw error;
    // the message of the authorizer, which comes before admission
    return /cannot create resource "pods"/u.test(error.message) ? undefined : error.message;
  }
}

async function readFixedIpSupport(api: DirectorApi): Promise<DirectorFacts['fixedIpSupport']> {
  const found = fixedIpNetwork(await api.groups());
  if (found !== undefined) return found;
  const daemonSet = { resource: daemonSets, namespace: 'kube-system', name: 'static-ip' };
  return (await exists(api, daemonSet)) === true ? 'static-ip' : undefined;
}

async function exists(
  api: DirectorApi,
  reference: { resource: Resource; namespace?: string; name: string },
): Promise<boolean | undefined> {
  try {
    return (await ifAllowed(api.get(reference))) === undefined ? undefined : true;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}
