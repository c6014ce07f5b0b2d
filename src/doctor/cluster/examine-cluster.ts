import { isProductError } from '../../errors/product-error.ts';
import { ifAllowed, type Resource } from '../../kubernetes/api.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { volumeAttributesClasses, volumeSnapshotClasses } from '../../kubernetes/resources.ts';
import type { VolumeAttributesClass, VolumeSnapshotClass } from '../../kubernetes/types/storage.ts';
import type { Clock } from '../../platform/clock.ts';
import { unmet, type Finding, type Requirement } from '../finding.ts';
import { readDeniedPermissions, type Account } from './access-review.ts';
import { classFindings, defaultClassFinding, snapshotFinding } from './class-findings.ts';
import {
  accountName,
  isEmbedded,
  readClusterFacts,
  type ClusterApi,
  type ClusterFacts,
} from './cluster-facts.ts';
import {
  admissionFindings,
  applyDiskRoles,
  applyRoles,
  clockFinding,
  fixedAddressFinding,
  multusFinding,
  rightsFinding,
  roomFinding,
  versionFinding,
  wholeCluster,
  type RightsCheck,
} from './cluster-findings.ts';
import type { VmNamespaces } from './pod-admission.ts';
import {
  describePermission,
  installPermissions,
  permissionsIn,
  readRoles,
  tokenPermission,
  type Permission,
  type Roles,
} from './required-permissions.ts';

export interface ClusterRequest extends VmNamespaces {
  /** The folder of the installation, which has the manifests. */
  readonly root: string;
  /** The account whose rights are reviewed. Undefined: the user of the kubeconfig. */
  readonly account: Account | undefined;
}

export interface ExaminedCluster {
  readonly findings: readonly Finding[];
  /** Undefined: the API was not reached. */
  readonly facts: ClusterFacts | undefined;
}

/**
 * Examines a cluster by reads, access reviews and dry runs. Changes nothing. An API that cannot be reached,
 * or that does not accept the credentials, is a finding, too.
 */
export async function examineCluster(
  api: ClusterApi,
  request: ClusterRequest,
  clock: Clock,
): Promise<ExaminedCluster> {
  try {
    const difference = await readClockDifference(api, clock);
    const [facts, rights, snapshotClasses, attributesClasses] = await Promise.all([
      readClusterFacts(api, request),
      reviewRights(api, request),
      listServed<VolumeSnapshotClass>(api, volumeSnapshotClasses),
      listServed<VolumeAttributesClass>(api, volumeAttributesClasses),
    ]);
    const classes = { classes: facts.classes, snapshotClasses, attributesClasses };
    const findings = [
      versionFinding(facts),
      clockFinding(difference),
      ...rights.map((check) => rightsFinding(check, request.account)),
      ...admissionFindings(facts),
      ...classFindings(classes, facts.nodes),
      defaultClassFinding(facts),
      snapshotFinding(classes),
      fixedAddressFinding(isEmbedded(facts) ? 'embedded' : facts.fixedIpSupport),
      multusFinding(facts),
      roomFinding(facts),
    ];
    return { findings, facts };
  } catch (error) {
    const finding = whyUnreachable(error);
    if (finding === undefined) throw error;
    return { findings: [finding], facts: undefined };
  }
}

/** What every other check needs. */
export const reachable: Requirement = {
  ...{ check: 'Kubernetes API', neededBy: 'everything', otherwise: 'failed' },
  remedy:
    'check the server of the kubeconfig and the way to it, for example with kubectl version, or name another kubeconfig with --kubeconfig',
};

function whyUnreachable(error: unknown): Finding | undefined {
  if (isProductError(error, 'KUBERNETES_UNREACHABLE') || isProductError(error, 'KUBERNETES_API'))
    return unmet(reachable, wholeCluster, error.message);
  if (!isApiError(error, 401)) return undefined;
  const remedy = 'log in again, or name another kubeconfig with --kubeconfig';
  return unmet(
    { ...reachable, remedy },
    wholeCluster,
    'it does not accept the credentials of the kubeconfig',
  );
}

/**
 * Returns by how many seconds at least the clock of the API server is ahead of this machine's; negative if it
 * is behind. The header Date has whole seconds. Undefined: the response had none.
 */
async function readClockDifference(api: ClusterApi, clock: Clock): Promise<number | undefined> {
  const before = clock.now();
  await ifAllowed(api.version());
  const server = api.serverTime();
  return server === undefined ? undefined : clockDifference({ before, server, after: clock.now() });
}

/** All times are in milliseconds. The server wrote its time, without the fraction, between the other two. */
export function clockDifference({
  before,
  server,
  after,
}: Readonly<Record<'before' | 'server' | 'after', number>>): number {
  if (server > after) return (server - after) / 1000;
  return server + 1000 < before ? (server + 1000 - before) / 1000 : 0;
}

/** Returns the objects of a kind that not every cluster serves. Undefined: the user may not list them. */
async function listServed<T extends KubernetesObject>(
  api: ClusterApi,
  resource: Resource,
): Promise<readonly T[] | undefined> {
  try {
    return (await ifAllowed(api.list<T>(resource)))?.items;
  } catch (error) {
    if (isApiError(error, 404)) return [];
    throw error;
  }
}

/** Reviews the rights of the roles in manifests/rbac, and those that install them. */
async function reviewRights(api: ClusterApi, request: ClusterRequest): Promise<RightsCheck[]> {
  const { root, account } = request;
  const checks = rightsOf(request, await readRoles(root));
  // the roles have rights in common
  const all = new Map(checks.flatMap(([, each]) => each.map((right) => [describePermission(right), right])));
  const denied = await readDeniedPermissions(api, [...all.values()], account);
  const names = denied && new Set(denied.map(describePermission));
  return checks.map(([requirement, permissions]) => ({
    ...{ requirement, permissions },
    denied: names && permissions.filter((right) => names.has(describePermission(right))),
  }));
}

function rightsOf(
  { namespace, diskNamespace, account }: ClusterRequest,
  { vms, disks, cluster, tunnel }: Roles,
): (readonly [Requirement, readonly Permission[]])[] {
  const isOfManifests = account?.namespace === namespace && account.name === accountName;
  const grant = (role: string, apply: string): string => {
    if (isOfManifests) return `${apply} (${role})`;
    if (account !== undefined) return `have an administrator bind ${role} to this account`;
    return (
      `have an administrator bind ${role} to you, or check the account of the CPI with --as ` +
      `system:serviceaccount:${namespace}:${accountName}`
    );
  };
  const cpi = 'each call of the CPI';
  const separate = diskNamespace !== namespace;
  return [
    [
      {
        ...{ check: 'Rights of the CPI', neededBy: cpi, otherwise: 'failed' },
        remedy: grant('manifests/rbac/namespaced.yaml', applyRoles(namespace)),
      },
      permissionsIn(namespace, vms),
    ],
    ...(separate
      ? [
          [
            {
              ...{ check: 'Rights for disks', neededBy: cpi, otherwise: 'failed' as const },
              remedy: grant('manifests/rbac/disks/disk-namespace.yaml', applyDiskRoles(diskNamespace)),
            },
            permissionsIn(diskNamespace, disks),
          ] as const,
        ]
      : []),
    [
      {
        ...{ check: 'Rights in the cluster', otherwise: 'warning' as const },
        neededBy: 'features that manifests/rbac/cluster.yaml names',
        remedy: grant('manifests/rbac/cluster.yaml', applyRoles(namespace)),
      },
      permissionsIn(namespace, cluster),
    ],
    ...(account === undefined ? operatorRights(namespace, { vms, disks, cluster, tunnel }) : []),
  ];
}

/** Rights that the account of the CPI does not need. */
function operatorRights(namespace: string, roles: Roles): (readonly [Requirement, readonly Permission[]])[] {
  return [
    [
      {
        ...{ check: 'Rights of a tunnel', neededBy: 'bosh-kubernetes tunnel', otherwise: 'warning' },
        remedy: 'have an administrator bind manifests/rbac/tunnel.yaml to you, or use another way to the VMs',
      },
      permissionsIn(namespace, roles.tunnel),
    ],
    [
      {
        ...{ check: 'Rights to install', neededBy: 'director init', otherwise: 'warning' },
        remedy:
          'have an administrator run kubectl apply -k manifests/cluster and create a token of the account',
      },
      [tokenPermission(namespace), ...installPermissions(namespace, roles)],
    ],
  ];
}
