import { isSameAddress } from '../bosh/manifest/ip-range.ts';
import type { Node } from '../kubernetes/types/node.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { formatBytes, parseMilli } from '../kubernetes/types/quantity.ts';
import type { Service } from '../kubernetes/types/service.ts';
import { volumeAnnotations } from '../kubernetes/types/storage.ts';
import { podRequests } from '../kubernetes/types/usage.ts';
import { accountName, clusterNamespace, type DirectorFacts } from './cluster-facts.ts';
import type { AccessMode } from './director-directory.ts';
import type { DirectorStemcell } from './director-stemcell.ts';
import { describePermission, type Permission } from './required-permissions.ts';

/** One line of the table that `director init` prints. */
export interface Check {
  readonly check: string;
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
  /** The resources that the director's VM requests of its node, in thousandths. */
  readonly requests: { readonly cpu: bigint; readonly memory: bigint };
  /** The director's address in the cluster: its own, or that of its Service. */
  readonly internalIp: string;
  readonly nodePorts: readonly number[];
  /** The stemcell of the VMs that the director creates, and whether the operator named it for them. */
  readonly vmStemcell: Pick<DirectorStemcell, 'path' | 'title' | 'hasOurAgent'> & {
    readonly isNamed: boolean;
  };
  /**
   * The cid of the director's VM, once create-env has created it. Its own address and ports do not count as
   * taken.
   */
  readonly ownVm: string | undefined;
}

/** The results of further requests to the API. */
export interface DirectorOptions {
  readonly denied: readonly Permission[];
  /** The message with which the API rejects a Service with the address; '' if it accepts one. */
  readonly clusterIpRefusal: string;
}

/** The Kubernetes minor version with ValidatingAdmissionPolicy (manifests/admission) in v1. */
const oldestMinor = 30;

/** Returns all findings about a director in a cluster, in the order of the table. */
export function directorFindings(
  wish: DirectorSpec,
  facts: DirectorFacts,
  answers: DirectorOptions,
): Check[] {
  return [
    kubernetesFinding(facts.version),
    rightsFinding(answers.denied),
    ...accountFindings(wish, facts),
    podSecurityFinding(wish, facts),
    classFinding(wish, facts),
    pinningFinding(wish, facts),
    capacityCheck(wish, facts),
    wish.way === 'direct' ? internalIpCheck(wish, facts) : clusterIpFinding(wish, facts, answers),
    ...(wish.nodePorts.length === 0 ? [] : [nodePortFinding(wish, facts)]),
    vmStemcellFinding(wish),
  ];
}

function kubernetesFinding(version: string): Check {
  const check = 'Kubernetes';
  const [, major, minor] = /^v(\d+)\.(\d+)/u.exec(version) ?? [];
  if (Number(major) > 1 || Number(minor) >= oldestMinor) return { check, result: 'ok', detail: version };
  const detail = `${version} is older than 1.${oldestMinor}, which manifests/admission needs; upgrade the cluster`;
  return { check, result: 'missing', detail, isNeeded: true };
}

/** A message with more names would not help. */
const shownRights = 3;

function rightsFinding(denied: readonly Permission[]): Check {
  const check = 'Rights';
  if (denied.length === 0)
    return { check, result: 'ok', detail: 'may create the service account, its roles and its token' };
  const names = denied.slice(0, shownRights).map(describePermission).join(', ');
  const more = denied.length > shownRights ? ` and ${denied.length - shownRights} more` : '';
  const detail =
    `may not ${names}${more}; use the kubeconfig of an administrator, or have one run ` +
    'kubectl apply -k manifests/cluster and grant the rest';
  return { check, result: 'missing', detail, isNeeded: true };
}

/** manifests/cluster creates the account in only one namespace. */
function accountFindings({ namespace }: DirectorSpec, { hasAccount }: DirectorFacts): Check[] {
  if (hasAccount || namespace === clusterNamespace) return [];
  const detail =
    `namespace '${namespace}' has no service account '${accountName}': apply a copy of manifests/rbac with that namespace ` +
    `(its kustomization.yaml), or leave out --namespace, for which commands.sh makes it`;
  return [{ check: 'Account', result: 'missing', detail, isNeeded: true }];
}

function podSecurityFinding({ namespace }: DirectorSpec, facts: DirectorFacts): Check {
  const check = 'Pod Security';
  const { hasNamespace, privilegedRefusal } = facts;
  if (!hasNamespace)
    return { check, result: 'ok', detail: `namespace '${namespace}' is not there yet; commands.sh makes it` };
  if (privilegedRefusal === undefined)
    return { check, result: 'unknown', detail: `not tried: you may not create pods in '${namespace}'` };
  if (privilegedRefusal === '')
    return { check, result: 'ok', detail: `namespace '${namespace}' admits privileged pods` };
  const label = 'pod-security.kubernetes.io/enforce=privileged';
  const remedy = /violates PodSecurity/u.test(privilegedRefusal)
    ? `kubectl label namespace ${namespace} --overwrite ${label}`
    : 'change that policy, or choose another namespace by --namespace';
  const detail = `namespace '${namespace}' refuses privileged pods (${privilegedRefusal}): ${remedy}`;
  return { check, result: 'missing', detail, isNeeded: true };
}

function classFinding({ hasStaticVolumes }: DirectorSpec, { classes }: DirectorFacts): Check {
  const check = 'Storage class';
  if (hasStaticVolumes) return { check, result: 'ok', detail: 'static volumes of manifests/cluster' };
  if (classes === undefined)
    return { check, result: 'unknown', detail: 'you may not list classes; create-env needs a default one' };
  const isDefault = classes.filter(
    ({ metadata }) => metadata.annotations?.[volumeAnnotations.defaultClass] === 'true',
  );
  const [chosen] = isDefault;
  if (chosen !== undefined) {
    const name = chosen.metadata.name;
    const growth =
      chosen.allowVolumeExpansion === true
        ? 'supports volume expansion'
        : 'no volume expansion: larger disks are copied';
    return { check, result: 'ok', detail: `${name} (${growth})` };
  }
  const [other] = classes;
  const mark =
    other === undefined
      ? 'no storage class exists; install a storage driver'
      : `no class is the default: kubectl annotate storageclass ${other.metadata.name} ${volumeAnnotations.defaultClass}=true`;
  const detail = `${mark}, or run this again with --static-volumes`;
  return { check, result: 'missing', detail, isNeeded: true };
}

function pinningFinding({ way, hasStaticIp }: DirectorSpec, { pinning }: DirectorFacts): Check {
  const check = 'Fixed addresses';
  if (pinning !== undefined) return { check, result: 'ok', detail: pinning };
  if (hasStaticIp) return { check, result: 'ok', detail: 'static-ip, by --static-ip' };
  const cause = 'found neither Calico, Kube-OVN nor the DaemonSet kube-system/static-ip';
  if (way !== 'direct')
    return { check, result: 'missing', detail: `${cause}; not needed, networks of VMs are dynamic` };
  const detail = `${cause}: install it (docs/static-ip.md), say --static-ip if the nodes have the plugin without the DaemonSet, or choose --way tunnel`;
  return { check, result: 'missing', detail, isNeeded: true };
}

function capacityCheck({ requests }: DirectorSpec, facts: DirectorFacts): Check {
  const check = 'Room on nodes';
  const { nodes, pods } = facts;
  if (nodes === undefined || pods === undefined)
    return { check, result: 'unknown', detail: 'you may not list the nodes and pods of the cluster' };
  const free = nodes.filter(isUsable).map((node) => ({ name: node.metadata.name, ...freeOn(node, pods) }));
  const fitting = free.find(({ cpu, memory }) => cpu >= requests.cpu && memory >= requests.memory);
  if (fitting !== undefined)
    return { check, result: 'ok', detail: `${fitting.name} has ${describe(fitting)} free` };
  const roomiest = free.toSorted((one, other) => Number(other.memory - one.memory))[0];
  const best = roomiest === undefined ? 'no node is ready' : `${roomiest.name} has ${describe(roomiest)}`;
  const detail =
    `no node has ${describe(requests)} free, ${best}; add a node, or lower cpu and memory in ops/cpi.yml, ` +
    'else create-env waits for an autoscaler';
  return { check, result: 'missing', detail };
}

const describe = ({ cpu, memory }: { cpu: bigint; memory: bigint }): string =>
  `${Number(cpu / 100n) / 10} CPU and ${formatBytes((memory / 1000n / mebi) * mebi)}`;
const mebi = 1024n * 1024n;

function isUsable({ spec, status }: Node): boolean {
  const isReady = status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
  const isTainted = spec?.taints?.some(({ effect }) => effect !== 'PreferNoSchedule') === true;
  return isReady === true && spec?.unschedulable !== true && !isTainted;
}

function freeOn(node: Node, pods: readonly Pod[]): { cpu: bigint; memory: bigint } {
  const taken = pods
    .filter(
      ({ spec, status }) =>
        spec.nodeName === node.metadata.name && status?.phase !== 'Succeeded' && status?.phase !== 'Failed',
    )
    .map(podRequests);
  const free = (name: string): bigint =>
    taken.reduce(
      (leftover, requests) => leftover - (requests.get(name) ?? 0n),
      parseMilli(node.status?.allocatable?.[name] ?? '0') ?? 0n,
    );
  return { cpu: free('cpu'), memory: free('memory') };
}

function internalIpCheck({ internalIp, ownVm }: DirectorSpec, { pods, services }: DirectorFacts): Check {
  const check = 'Address';
  if (pods === undefined)
    return {
      check,
      result: 'unknown',
      detail: `you may not list the pods of the cluster, so ${internalIp} was not checked`,
    };
  const pod = pods.find(
    ({ status, metadata }) =>
      isSameAddress(status?.podIP ?? '', internalIp) && (ownVm === undefined || metadata.name !== ownVm),
  );
  if (pod !== undefined) return ownerOf(check, internalIp, `pod ${fullName(pod)}`, '--internal-ip');
  const service = services?.find(({ spec }) => isSameAddress(spec.clusterIP ?? '', internalIp));
  if (service !== undefined)
    return ownerOf(check, internalIp, `Service ${fullName(service)}`, '--internal-ip');
  return { check, result: 'ok', detail: `${internalIp} is free` };
}

function clusterIpFinding(
  { internalIp, ownVm }: DirectorSpec,
  { services }: DirectorFacts,
  { clusterIpRefusal }: DirectorOptions,
): Check {
  const check = 'Address';
  const service = services?.find(({ spec }) => isSameAddress(spec.clusterIP ?? '', internalIp));
  if (service !== undefined && isOf(service, ownVm))
    return { check, result: 'ok', detail: `${internalIp} is the director's already` };
  if (service !== undefined)
    return ownerOf(check, internalIp, `Service ${fullName(service)}`, '--internal-ip');
  if (clusterIpRefusal === '') return { check, result: 'ok', detail: `${internalIp}, of a Service, is free` };
  const detail = `${internalIp} is not usable as a cluster IP (${clusterIpRefusal}): choose a free one with --internal-ip`;
  return { check, result: 'missing', detail, isNeeded: true };
}

function nodePortFinding({ nodePorts, ownVm }: DirectorSpec, { services }: DirectorFacts): Check {
  const check = 'Node ports';
  if (services === undefined)
    return {
      check,
      result: 'unknown',
      detail: `you may not list Services, so ${nodePorts.join(', ')} were not checked`,
    };
  for (const service of services) {
    const port = service.spec.ports?.find(({ nodePort = 0 }) => nodePorts.includes(nodePort))?.nodePort;
    if (port === undefined || isOf(service, ownVm)) continue;
    const detail = `${port} is taken by Service ${fullName(service)}: delete that, or choose another way`;
    return { check, result: 'missing', detail, isNeeded: true };
  }
  return { check, result: 'ok', detail: `${nodePorts.join(', ')} are free` };
}

/**
 * Checks the stemcell of the VMs. The director's own VM may have our agent, because create-env uses HTTPS for
 * it.
 */
function vmStemcellFinding({ vmStemcell }: DirectorSpec): Check {
  const check = 'Stemcell of VMs';
  const { path, title, hasOurAgent, isNamed } = vmStemcell;
  if (!hasOurAgent) return { check, result: 'ok', detail: `${title} of '${path}', with upstream's agent` };
  const detail =
    `the agent in '${path}' speaks no NATS, by which a director speaks to the VMs that it makes; ` +
    "give a stemcell with upstream's agent by --vm-stemcell FILE (docs/director.md)";
  return { check, result: 'missing', detail, ...(isNamed && { isNeeded: true }) };
}

const isOf = ({ metadata }: Service, vm: string | undefined): boolean =>
  vm !== undefined && metadata.ownerReferences?.some(({ name }) => name === vm) === true;

const fullName = ({ metadata }: Pod | Service): string => `${metadata.namespace}/${metadata.name}`;

function ownerOf(check: string, address: string, by: string, flag: string): Check {
  const detail = `${address} is taken by ${by}: give another one by ${flag}`;
  return { check, result: 'missing', detail, isNeeded: true };
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
