import { profiles } from '../../cpi/config/profile.ts';
import { whyClosed, type Node } from '../../kubernetes/types/node.ts';
import { truncateAtWord } from '../../errors/text.ts';
import { met, notAllowed, unchecked, unmet, type Finding, type Requirement } from '../finding.ts';
import type { Account } from './access-review.ts';
import { clusterNamespace, type ClusterFacts } from './cluster-facts.ts';
import {
  amountsIn,
  describeRequests,
  describeRoom,
  describeRoomiest,
  fits,
  roomOnNodes,
} from './node-room.ts';
import { describePermissions, type Permission } from './required-permissions.ts';
import type { Amounts } from '../../kubernetes/types/usage.ts';

/** The subject of the rows about the whole cluster. */
export const wholeCluster = 'cluster';

/** The Kubernetes minor version with ValidatingAdmissionPolicy (manifests/admission) in v1. */
const oldestMinor = 30;

const kubernetes: Requirement = {
  ...{ check: 'Kubernetes', neededBy: 'manifests/admission', otherwise: 'failed' },
  remedy: 'upgrade the cluster',
};

/** Returns whether the version of the cluster is supported. */
export function versionFinding({ version }: Pick<ClusterFacts, 'version'>): Finding {
  if (version === undefined) return notAllowed(kubernetes, wholeCluster, 'get /version');
  const [, major, minor] = /^v(\d+)\.(\d+)/u.exec(version) ?? [];
  return Number(major) > 1 || Number(minor) >= oldestMinor
    ? met(kubernetes, wholeCluster, version)
    : unmet(
        kubernetes,
        wholeCluster,
        `${version} is older than 1.${oldestMinor}, which manifests/admission needs`,
      );
}

const clockRequirement: Requirement = {
  ...{ check: 'Clock', neededBy: 'certificates and tokens', otherwise: 'warning' },
  remedy: 'set the clock of this machine and those of the nodes by NTP',
};

/** Seconds. New certificates are valid from the time of this machine. */
const [smallDifference, largeDifference] = [5, 60];

/** `seconds`: how much later it is in the cluster than on this machine. Undefined: the API named no time. */
export function clockFinding(seconds: number | undefined): Finding {
  if (seconds === undefined) {
    const detail = 'the API server names no time (Date) in its responses';
    return unchecked(clockRequirement, wholeCluster, { detail, remedy: clockRequirement.remedy });
  }
  const difference = Math.abs(seconds);
  if (difference <= smallDifference)
    return met(clockRequirement, wholeCluster, `at most ${smallDifference} s from this machine's`);
  const detail = `${Math.round(difference)} s ${seconds < 0 ? 'behind' : 'ahead of'} this machine's`;
  const otherwise = difference > largeDifference ? 'failed' : 'warning';
  return unmet({ ...clockRequirement, otherwise }, wholeCluster, detail);
}

/** Rights that are needed together. */
export interface RightsCheck {
  readonly requirement: Requirement;
  readonly permissions: readonly Permission[];
  /** Undefined: the user may not create the reviews. */
  readonly denied: readonly Permission[] | undefined;
}

/** Returns whether the account, or without one the user, has the rights. */
export function rightsFinding(
  { requirement, permissions, denied }: RightsCheck,
  account: Account | undefined,
): Finding {
  const subject = account === undefined ? 'you' : `${account.namespace}/${account.name}`;
  if (denied === undefined) return notReviewed(requirement, subject, account !== undefined);
  const verb = account === undefined ? 'have' : 'has';
  return denied.length === 0
    ? met(requirement, subject, `${verb} all ${permissions.length}`)
    : unmet(requirement, subject, `may not ${describePermissions(denied)}`);
}

/** Not each cluster serves reviews of another account: the embedded one does not. */
function notReviewed(requirement: Requirement, subject: string, isOfAnother: boolean): Finding {
  if (!isOfAnother)
    return notAllowed(requirement, subject, 'create selfsubjectaccessreviews.authorization.k8s.io');
  return unchecked(requirement, subject, {
    detail:
      'you may not create subjectaccessreviews.authorization.k8s.io, or the cluster does not serve them',
    remedy: 'use a kubeconfig with that right, or the kubeconfig of the account without --as',
  });
}

const podSecurity: Requirement = {
  ...{ check: 'Pod Security', neededBy: 'VMs of the profile privileged', otherwise: 'warning' },
  remedy: 'change the policy that the details name, or use another namespace',
};
const hotAttach: Requirement = {
  ...{ check: 'Attachment pods', neededBy: 'disks that are attached to a running VM', otherwise: 'warning' },
  remedy:
    'set kubernetes.disk_namespace to a namespace that admits them, or kubernetes.attach to recreate (docs/cpi/disks.md)',
};

/** A message of admission names each rule that a pod breaks. */
const maxMessageLength = 200;

/** Returns which pods of the CPI the namespaces admit. */
export function admissionFindings(facts: ClusterFacts): Finding[] {
  const { namespace, diskNamespace, hasNamespace, hasDiskNamespace, admission } = facts;
  const vms =
    hasNamespace === false
      ? missingNamespace(podSecurity, namespace, applyRoles(namespace))
      : profilesFinding(namespace, admission.vms);
  if (hasDiskNamespace !== false) return [vms, attachmentFinding(diskNamespace, admission.attachment)];
  if (diskNamespace === namespace) return [vms];
  return [vms, missingNamespace(hotAttach, diskNamespace, applyDiskRoles(diskNamespace))];
}

const missingNamespace = (requirement: Requirement, namespace: string, remedy: string): Finding =>
  unmet({ ...requirement, remedy }, namespace, 'the namespace does not exist yet');

/**
 * Returns how an administrator creates the namespace of the VMs, with the account and the roles of the CPI.
 */
export const applyRoles = (namespace: string): string =>
  namespace === clusterNamespace
    ? 'kubectl apply -k manifests/rbac'
    : `apply a copy of manifests/rbac whose kustomization.yaml has the namespace '${namespace}'`;

/** Returns how an administrator creates the namespace of the disks, with the role of the CPI there. */
export const applyDiskRoles = (namespace: string): string =>
  namespace === 'bosh-disks'
    ? 'kubectl apply -k manifests/rbac/disks'
    : `apply a copy of manifests/rbac/disks whose files have the namespace '${namespace}' instead of 'bosh-disks'`;

const createPods = (namespace: string): string => `create pods in '${namespace}'`;

/** Returns whether a disk can be attached to a running VM. */
function attachmentFinding(namespace: string, rejection: ClusterFacts['admission']['attachment']): Finding {
  if (rejection === undefined) return notAllowed(hotAttach, namespace, createPods(namespace));
  if (rejection === '') return met(hotAttach, namespace, 'admitted');
  return unmet(withLabel(hotAttach, namespace, rejection), namespace, shorten(rejection));
}

/** Returns which profiles a VM can have there. */
function profilesFinding(namespace: string, rejections: ClusterFacts['admission']['vms']): Finding {
  const { privileged } = rejections;
  if (privileged === undefined) return notAllowed(podSecurity, namespace, createPods(namespace));
  const admitted = profiles.filter((profile) => rejections[profile] === '');
  if (privileged === '')
    return met(podSecurity, namespace, `admits VMs of the profiles ${admitted.join(', ')}`);
  const requirement = withLabel(podSecurity, namespace, privileged);
  return admitted.length === 0
    ? unmet(
        { ...requirement, neededBy: 'each VM', otherwise: 'failed' },
        ...([namespace, `admits no VM of any profile: ${shorten(privileged)}`] as const),
      )
    : unmet(
        requirement,
        namespace,
        `admits only VMs of the profile ${admitted.join(', ')}: ${shorten(privileged)}`,
      );
}

const shorten = (message: string): string => truncateAtWord(message, maxMessageLength);

function withLabel(requirement: Requirement, namespace: string, message: string): Requirement {
  if (!/violates PodSecurity/u.test(message)) return requirement;
  const remedy = `kubectl label namespace ${namespace} --overwrite pod-security.kubernetes.io/enforce=privileged`;
  return { ...requirement, remedy };
}

const fixedAddresses: Requirement = {
  ...{ check: 'Fixed addresses', neededBy: 'manual networks', otherwise: 'warning' },
  remedy:
    'nothing, if all networks are dynamic; otherwise install the CNI plugin static-ip (docs/static-ip.md)',
};

const howPinned = {
  calico: 'Calico',
  'kube-ovn': 'Kube-OVN',
  'static-ip': 'the CNI plugin static-ip',
  embedded: 'the embedded cluster',
} as const;

/** Returns what gives a VM the address that its network names. */
export function fixedAddressFinding(support: keyof typeof howPinned | 'none' | undefined): Finding {
  if (support === undefined)
    return notAllowed(
      fixedAddresses,
      wholeCluster,
      'list the API groups, and get daemonsets.apps in kube-system',
    );
  if (support !== 'none') return met(fixedAddresses, wholeCluster, `by ${howPinned[support]}`);
  const detail = 'found neither Calico, Kube-OVN nor the DaemonSet kube-system/static-ip';
  return unmet(fixedAddresses, wholeCluster, detail);
}

/** The requirement is only a name here: a VM with one network needs no Multus. */
const moreNetworks: Requirement = {
  ...{ check: 'Networks of a VM', neededBy: 'VMs with several networks', otherwise: 'warning', remedy: '' },
};

/** Returns whether a VM can have more than one interface. */
export function multusFinding({ groups }: Pick<ClusterFacts, 'groups'>): Finding {
  if (groups === undefined) return notAllowed(moreNetworks, wholeCluster, 'list the API groups');
  const detail = groups.includes('k8s.cni.cncf.io')
    ? 'several, by Multus'
    : 'one, because there is no Multus';
  return met(moreNetworks, wholeCluster, detail);
}

const room: Requirement = {
  ...{ check: 'Room on nodes', neededBy: 'VMs', otherwise: 'warning' },
  remedy: 'add a node, or delete pods; a VM that has no room waits for an autoscaler',
};

/** A small VM. The VMs of a deployment request what its vm_types say. */
const smallVm = amountsIn({ cpu: '500m', memory: '1Gi' });

const maxClosedNodes = 2;

/** Returns whether a node has room for a VM with these requests. */
export function roomFinding(
  { nodes, pods }: Pick<ClusterFacts, 'nodes' | 'pods'>,
  requests: Amounts = smallVm,
): Finding {
  const subject = 'nodes';
  if (nodes === undefined || pods === undefined)
    return notAllowed(room, subject, `list ${nodes === undefined ? 'nodes' : 'the pods of all namespaces'}`);
  const rooms = roomOnNodes(nodes, pods);
  if (rooms.length === 0)
    return unmet({ ...room, otherwise: 'failed' }, subject, `none for VMs${closed(nodes)}`);
  const fitting = rooms.find(({ free }) => fits(requests, free));
  const many =
    nodes.length === 1 ? '' : `; ${rooms.length} of ${nodes.length} nodes take VMs${closed(nodes)}`;
  return fitting === undefined
    ? unmet(
        room,
        subject,
        `no node has ${describeRequests(requests)} free, ${describeRoomiest(rooms)}${many}`,
      )
    : met(room, subject, `${fitting.name} has ${describeRoom(fitting.free)} free${many}`);
}

function closed(nodes: readonly Node[]): string {
  const reasons = nodes.flatMap((node) => {
    const reason = whyClosed(node);
    return reason === undefined ? [] : [`${node.metadata.name}: ${reason}`];
  });
  if (reasons.length === 0) return '';
  const more = reasons.length > maxClosedNodes ? ` and ${reasons.length - maxClosedNodes} more` : '';
  return ` (${reasons.slice(0, maxClosedNodes).join('; ')}${more})`;
}
