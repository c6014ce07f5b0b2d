import { isSameAddress } from '../bosh/manifest/ip-range.ts';
import { defaultClassName, findStorageClass } from '../cpi/disk/classes.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import type { Service } from '../kubernetes/types/service.ts';
import { volumeAnnotations } from '../kubernetes/types/storage.ts';
import type { Amounts } from '../kubernetes/types/usage.ts';
import { accountName, clusterNamespace, type DirectorFacts } from './cluster-facts.ts';
import type { AccessMode } from './director-directory.ts';
import type { DirectorStemcell } from './director-stemcell.ts';
import { describeRequests, describeRoom, describeRoomiest, fits, roomOnNodes } from './node-room.ts';
import { describePermission, type Permission } from './required-permissions.ts';

/** One line of the table that `director init` prints. */
export interface Check {
  readonly name: string;
  /** `unknown`: this user may not read it. */
  readonly result: 'ok' | 'missing' | 'unknown';
  /** The details; if something is missing, also the remedy. */
  readonly detail: string;
  /** Present if a director cannot work without it. */
  readonly isNeeded?: true;
}

/** The requested director. */
export interface DirectorSpec {
  readonly way: AccessMode;
  readonly namespace: string;
  readonly hasStaticVolumes: boolean;
  /** The operator declares that the nodes have the plugin static-ip. */
  readonly hasStaticIp: boolean;
  /** The resources that the director's VM requests of its node. */
  readonly requests: Amounts;
  /** The director's address in the cluster: its own, or that of its Service. */
  readonly internalIp: string;
  readonly nodePorts: readonly number[];
  /** The stemcell of the VMs that the director creates, and whether they must be able to use it. */
  readonly vmStemcell: Pick<DirectorStemcell, 'path' | 'title' | 'hasOurAgent' | 'speaksNats'> & {
    readonly isNeeded: boolean;
  };
  /**
   * The cid of the director's VM, once create-env has created it. Its own address and ports do not count as
   * taken.
   */
  readonly ownVm: string | undefined;
}

/** The results of further requests to the API. */
export interface ProbeResults {
  readonly denied: readonly Permission[];
  /** The message with which the API rejects a Service with the address; '' if it accepts one. */
  readonly clusterIpRejection: string;
}

/** The Kubernetes minor version with ValidatingAdmissionPolicy (manifests/admission) in v1. */
const oldestMinor = 30;

/** Returns all findings about a director in a cluster, in the order of the table. */
export function preflightChecks(spec: DirectorSpec, facts: DirectorFacts, probes: ProbeResults): Check[] {
  return [
    kubernetesCheck(facts.version),
    permissionsCheck(probes.denied),
    ...accountChecks(spec, facts),
    podSecurityCheck(spec, facts),
    storageClassCheck(spec, facts),
    fixedIpCheck(spec, facts),
    capacityCheck(spec, facts),
    spec.way === 'direct' ? internalIpCheck(spec, facts) : clusterIpCheck(spec, facts, probes),
    ...(spec.nodePorts.length === 0 ? [] : [nodePortCheck(spec, facts)]),
    vmStemcellCheck(spec),
  ];
}

function kubernetesCheck(version: string): Check {
  const name = 'Kubernetes';
  const [, major, minor] = /^v(\d+)\.(\d+)/u.exec(version) ?? [];
  if (Number(major) > 1 || Number(minor) >= oldestMinor) return { name, result: 'ok', detail: version };
  const detail = `${version} is older than 1.${oldestMinor}, which manifests/admission needs; upgrade the cluster`;
  return { name, result: 'missing', detail, isNeeded: true };
}

/** A message with more names would not help. */
const maxShownPermissions = 3;

function permissionsCheck(denied: readonly Permission[]): Check {
  const name = 'Rights';
  if (denied.length === 0)
    return { name, result: 'ok', detail: 'may create the service account, its roles and its token' };
  const names = denied.slice(0, maxShownPermissions).map(describePermission).join(', ');
  const more = denied.length > maxShownPermissions ? ` and ${denied.length - maxShownPermissions} more` : '';
  const detail =
    `may not ${names}${more}; use the kubeconfig of an administrator, or have one run ` +
    'kubectl apply -k manifests/cluster and grant the rest';
  return { name, result: 'missing', detail, isNeeded: true };
}

/** manifests/cluster creates the account in only one namespace. */
function accountChecks({ namespace }: DirectorSpec, { hasAccount }: DirectorFacts): Check[] {
  if (hasAccount || namespace === clusterNamespace) return [];
  const detail =
    `namespace '${namespace}' has no service account '${accountName}': apply a copy of manifests/rbac with that namespace ` +
    `(its kustomization.yaml), or leave out --namespace: commands.sh creates the account in '${clusterNamespace}'`;
  return [{ name: 'Account', result: 'missing', detail, isNeeded: true }];
}

function podSecurityCheck({ namespace }: DirectorSpec, facts: DirectorFacts): Check {
  const name = 'Pod Security';
  const { hasNamespace, privilegedPodRejection } = facts;
  if (!hasNamespace)
    return {
      name,
      result: 'ok',
      detail: `namespace '${namespace}' does not exist yet; commands.sh creates it`,
    };
  if (privilegedPodRejection === undefined)
    return { name, result: 'unknown', detail: `not tried: you may not create pods in '${namespace}'` };
  if (privilegedPodRejection === '')
    return { name, result: 'ok', detail: `namespace '${namespace}' admits privileged pods` };
  const label = 'pod-security.kubernetes.io/enforce=privileged';
  const remedy = /violates PodSecurity/u.test(privilegedPodRejection)
    ? `kubectl label namespace ${namespace} --overwrite ${label}`
    : 'change that policy, or choose another namespace with --namespace';
  const detail = `namespace '${namespace}' rejects privileged pods (${privilegedPodRejection}): ${remedy}`;
  return { name, result: 'missing', detail, isNeeded: true };
}

function storageClassCheck({ hasStaticVolumes }: DirectorSpec, { classes }: DirectorFacts): Check {
  const name = 'Storage class';
  if (hasStaticVolumes) return { name, result: 'ok', detail: 'static volumes of manifests/cluster' };
  if (classes === undefined)
    return { name, result: 'unknown', detail: 'you may not list classes; create-env needs a default one' };
  const className = defaultClassName(classes);
  if (className !== undefined) {
    const growth =
      findStorageClass(classes, className)?.allowVolumeExpansion === true
        ? 'supports volume expansion'
        : 'no volume expansion: larger disks are copied';
    return { name, result: 'ok', detail: `${className} (${growth})` };
  }
  const [other] = classes;
  const mark =
    other === undefined
      ? 'no storage class exists; install a storage driver'
      : `no class is the default: kubectl annotate storageclass ${other.metadata.name} ${volumeAnnotations.defaultClass}=true`;
  const detail = `${mark}, or run this again with --static-volumes`;
  return { name, result: 'missing', detail, isNeeded: true };
}

function fixedIpCheck({ way, hasStaticIp }: DirectorSpec, { fixedIpSupport }: DirectorFacts): Check {
  const name = 'Fixed addresses';
  if (fixedIpSupport !== undefined) return { name, result: 'ok', detail: fixedIpSupport };
  if (hasStaticIp) return { name, result: 'ok', detail: 'static-ip, by --static-ip' };
  const cause = 'found neither Calico, Kube-OVN nor the DaemonSet kube-system/static-ip';
  if (way !== 'direct')
    return { name, result: 'missing', detail: `${cause}; not needed, networks of VMs are dynamic` };
  const detail = `${cause}: install it (docs/static-ip.md), use --static-ip if the nodes have the plugin without the DaemonSet, or choose --way tunnel`;
  return { name, result: 'missing', detail, isNeeded: true };
}

function capacityCheck({ requests }: DirectorSpec, { nodes, pods }: DirectorFacts): Check {
  const name = 'Room on nodes';
  if (nodes === undefined || pods === undefined)
    return { name, result: 'unknown', detail: 'you may not list the nodes and pods of the cluster' };
  const rooms = roomOnNodes(nodes, pods);
  const fitting = rooms.find(({ free }) => fits(requests, free));
  if (fitting !== undefined)
    return { name, result: 'ok', detail: `${fitting.name} has ${describeRoom(fitting.free)} free` };
  const detail =
    `no node has ${describeRequests(requests)} free, ${describeRoomiest(rooms)}; add a node, or lower cpu and memory ` +
    'in ops/cpi.yml, otherwise create-env waits for an autoscaler';
  return { name, result: 'missing', detail };
}

function internalIpCheck({ internalIp, ownVm }: DirectorSpec, { pods, services }: DirectorFacts): Check {
  const name = 'Address';
  if (pods === undefined)
    return {
      name,
      result: 'unknown',
      detail: `you may not list the pods of the cluster, so ${internalIp} was not checked`,
    };
  const pod = pods.find(
    ({ status, metadata }) =>
      isSameAddress(status?.podIP ?? '', internalIp) && (ownVm === undefined || metadata.name !== ownVm),
  );
  if (pod !== undefined) return takenBy(name, internalIp, `pod ${fullName(pod)}`, '--internal-ip');
  const service = services?.find(({ spec }) => isSameAddress(spec.clusterIP ?? '', internalIp));
  if (service !== undefined)
    return takenBy(name, internalIp, `Service ${fullName(service)}`, '--internal-ip');
  return { name, result: 'ok', detail: `${internalIp} is free` };
}

function clusterIpCheck(
  { internalIp, ownVm }: DirectorSpec,
  { services }: DirectorFacts,
  { clusterIpRejection }: ProbeResults,
): Check {
  const name = 'Address';
  const service = services?.find(({ spec }) => isSameAddress(spec.clusterIP ?? '', internalIp));
  if (service !== undefined && isOwnedBy(service, ownVm))
    return { name, result: 'ok', detail: `${internalIp} is the director's already` };
  if (service !== undefined)
    return takenBy(name, internalIp, `Service ${fullName(service)}`, '--internal-ip');
  if (clusterIpRejection === '')
    return { name, result: 'ok', detail: `${internalIp}, of a Service, is free` };
  const detail = `${internalIp} is not usable as a cluster IP (${clusterIpRejection}): choose a free one with --internal-ip`;
  return { name, result: 'missing', detail, isNeeded: true };
}

function nodePortCheck({ nodePorts, ownVm }: DirectorSpec, { services }: DirectorFacts): Check {
  const name = 'Node ports';
  if (services === undefined)
    return {
      name,
      result: 'unknown',
      detail: `you may not list Services, so ${nodePorts.join(', ')} were not checked`,
    };
  for (const service of services) {
    const port = service.spec.ports?.find(({ nodePort = 0 }) => nodePorts.includes(nodePort))?.nodePort;
    if (port === undefined || isOwnedBy(service, ownVm)) continue;
    const detail = `${port} is taken by Service ${fullName(service)}: delete that Service, or choose another --way`;
    return { name, result: 'missing', detail, isNeeded: true };
  }
  return { name, result: 'ok', detail: `${nodePorts.join(', ')} are free` };
}

/**
 * Checks the stemcell of the VMs. The agent of the director's own VM need not speak NATS, because create-env
 * uses HTTPS for it.
 */
function vmStemcellCheck({ vmStemcell }: DirectorSpec): Check {
  const name = 'Stemcell of VMs';
  const { path, title, hasOurAgent, isNeeded } = vmStemcell;
  const agent = hasOurAgent ? 'our agent' : "upstream's agent";
  if (vmStemcell.speaksNats) return { name, result: 'ok', detail: `${title} of '${path}', with ${agent}` };
  const detail =
    `the agent in '${path}' does not speak NATS, which a director uses for its VMs, because an earlier version built that stemcell; ` +
    "build it again with 'bosh-kubernetes stemcell build', or name another one with --vm-stemcell FILE (docs/director.md)";
  return { name, result: 'missing', detail, ...(isNeeded && { isNeeded }) };
}

const isOwnedBy = ({ metadata }: Service, vm: string | undefined): boolean =>
  vm !== undefined && metadata.ownerReferences?.some(({ name }) => name === vm) === true;

const fullName = ({ metadata }: Pod | Service): string => `${metadata.namespace}/${metadata.name}`;

function takenBy(name: string, address: string, by: string, flag: string): Check {
  const detail = `${address} is taken by ${by}: choose another one with ${flag}`;
  return { name, result: 'missing', detail, isNeeded: true };
}

/**
 * Returns the lowest address from the eleventh of the range that no Service has: the API server gives the
 * first 16 addresses of a range (more in one larger than /24) by itself only if all others are taken.
 * Undefined if the user may not list Services or all addresses are taken.
 */
export function freeClusterIp(services: readonly Service[] | undefined): string | undefined {
  const first = services?.find(
    ({ metadata }) => metadata.namespace === 'default' && metadata.name === 'kubernetes',
  )?.spec.clusterIP;
  const [, start, last] = /^(\d+\.\d+\.\d+\.)(\d+)$/u.exec(first ?? '') ?? [];
  if (services === undefined || start === undefined) return undefined;
  const taken = new Set(services.map(({ spec }) => spec.clusterIP));
  // the tenth is, or may become, the cluster's DNS nearly everywhere
  const offsets = [...Array(244).keys()].map((index) => index + 11);
  return offsets
    .filter((offset) => Number(last) + offset < 255)
    .map((offset) => `${start}${Number(last) + offset - 1}`)
    .find((address) => !taken.has(address));
}
