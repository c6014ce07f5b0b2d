import { isSameAddress } from '../bosh/manifest/ip-range.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import type { Service } from '../kubernetes/types/service.ts';
import type { Amounts } from '../kubernetes/types/usage.ts';
import { defaultClassFinding } from '../doctor/cluster/class-findings.ts';
import {
  accountName,
  clusterNamespace,
  type ClusterFacts,
  type ServiceRejection,
} from '../doctor/cluster/cluster-facts.ts';
import {
  admissionFindings,
  fixedAddressFinding,
  rightsFinding,
  roomFinding,
  versionFinding,
} from '../doctor/cluster/cluster-findings.ts';
import { describePermissions, type Permission } from '../doctor/cluster/required-permissions.ts';
import type { Finding, Requirement } from '../doctor/finding.ts';
import type { AccessMode } from './director-directory.ts';
import type { DirectorStemcell } from './director-stemcell.ts';

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

/** The rights that commands.sh needs. */
export interface DirectorRights {
  /** Needed in any case. */
  readonly always: readonly Permission[];
  /** Needed if the account of the CPI does not exist. Empty: it exists. */
  readonly toInstall: readonly Permission[];
  /** Those of both lists that the user does not have. Undefined: the user may not create the reviews. */
  readonly denied: readonly Permission[] | undefined;
}

/** The results of further requests to the API. */
export interface ProbeResults {
  readonly rights: DirectorRights;
  /** About a Service with the director's address. */
  readonly clusterIpRejection: ServiceRejection;
}

/** Returns all findings about a director in a cluster, in the order of the table. */
export function preflightChecks(spec: DirectorSpec, facts: ClusterFacts, probes: ProbeResults): Check[] {
  return [
    checkOf(versionFinding(facts), { isNeeded: true }),
    permissionsCheck(spec, facts, probes.rights),
    ...accountChecks(spec, facts),
    podSecurityCheck(spec, facts),
    storageClassCheck(spec, facts),
    fixedIpCheck(spec, facts),
    checkOf(roomFinding(facts, spec.requests), {
      remedy:
        'add a node, or lower cpu and memory in ops/cpi.yml, otherwise create-env waits for an autoscaler',
    }),
    spec.way === 'direct' ? internalIpCheck(spec, facts) : clusterIpCheck(spec, facts, probes),
    ...(spec.nodePorts.length === 0 ? [] : [nodePortCheck(spec, facts)]),
    vmStemcellCheck(spec),
  ];
}

interface DirectorNeed {
  readonly isNeeded?: boolean;
  /** The remedy for a director, if it is another one than that of the finding. */
  readonly remedy?: string;
}

/** Returns the line for a finding of the doctor. */
function checkOf(
  { check: name, result, detail, ...finding }: Finding,
  { isNeeded = false, remedy = finding.remedy }: DirectorNeed,
): Check {
  if (result === 'ok' || result === 'unknown') return { name, result, detail };
  return { name, result: 'missing', detail: `${detail}: ${remedy}`, ...(isNeeded && { isNeeded }) };
}

const rights: Requirement = {
  ...{ check: 'Rights', neededBy: 'commands.sh', otherwise: 'failed' },
  remedy:
    'use the kubeconfig of an administrator, or have one run kubectl apply -k manifests/cluster and grant the rest',
};

function permissionsCheck(
  { namespace }: DirectorSpec,
  { hasAccount }: ClusterFacts,
  { always, toInstall, denied }: DirectorRights,
): Check {
  const found = { requirement: rights, permissions: [...always, ...toInstall], denied };
  const check = checkOf(rightsFinding(found, undefined), { isNeeded: true });
  if (check.result === 'ok') {
    const made =
      hasAccount === true ? 'a token of the service account' : 'the service account, its roles and its token';
    return { ...check, detail: `may create ${made}` };
  }
  const isAlwaysNeeded = denied?.some((each) => always.includes(each)) !== false;
  if (hasAccount !== undefined || isAlwaysNeeded) return check;
  const detail = `${unknownAccount(namespace)}; if it does not, you also need the rights to ${describePermissions(denied)}`;
  return { name: check.name, result: 'unknown', detail };
}

const unknownAccount = (namespace: string): string =>
  `you may not get serviceaccounts in '${namespace}', so it is not known whether '${accountName}' exists`;

/** manifests/cluster creates the account in only one namespace. */
function accountChecks({ namespace }: DirectorSpec, { hasAccount }: ClusterFacts): Check[] {
  const name = 'Account';
  if (hasAccount === true || namespace === clusterNamespace) return [];
  if (hasAccount === undefined) return [{ name, result: 'unknown', detail: unknownAccount(namespace) }];
  const detail =
    `namespace '${namespace}' has no service account '${accountName}': apply a copy of manifests/rbac with that namespace ` +
    `(its kustomization.yaml), or leave out --namespace: commands.sh creates the account in '${clusterNamespace}'`;
  return [{ name, result: 'missing', detail, isNeeded: true }];
}

/** The director's postgres needs a privileged VM, and its disk an attachment pod. */
function podSecurityCheck({ namespace }: DirectorSpec, facts: ClusterFacts): Check {
  const name = 'Pod Security';
  if (facts.hasNamespace === false)
    return {
      ...{ name, result: 'ok' },
      detail: `namespace '${namespace}' does not exist yet; commands.sh creates it`,
    };
  const problem = admissionFindings(facts).find(({ result }) => result !== 'ok');
  if (problem === undefined)
    return { name, result: 'ok', detail: `namespace '${namespace}' admits privileged pods` };
  const detail = `namespace '${namespace}': ${problem.check}: ${problem.detail}`;
  return checkOf({ ...problem, check: name, detail }, { isNeeded: true });
}

function storageClassCheck({ hasStaticVolumes }: DirectorSpec, facts: ClusterFacts): Check {
  const name = 'Storage class';
  if (hasStaticVolumes) return { name, result: 'ok', detail: 'static volumes of manifests/cluster' };
  const finding = defaultClassFinding(facts);
  const remedy = `${finding.remedy}, or run this again with --static-volumes`;
  return checkOf({ ...finding, check: name }, { isNeeded: true, remedy });
}

function fixedIpCheck({ way, hasStaticIp }: DirectorSpec, { fixedIpSupport }: ClusterFacts): Check {
  const finding = fixedAddressFinding(fixedIpSupport);
  const { check: name, detail } = finding;
  if (finding.result !== 'ok' && hasStaticIp)
    return { name, result: 'ok', detail: 'static-ip, by --static-ip' };
  if (finding.result !== 'ok' && way !== 'direct') {
    const result = finding.result === 'unknown' ? 'unknown' : 'missing';
    return { name, result, detail: `${detail}; not needed, networks of VMs are dynamic` };
  }
  const remedy =
    'install it (docs/static-ip.md), use --static-ip if the nodes have the plugin without the DaemonSet, or choose --way tunnel';
  return checkOf(finding, { isNeeded: true, remedy });
}

function internalIpCheck({ internalIp, ownVm }: DirectorSpec, { pods, services }: ClusterFacts): Check {
  const name = 'Address';
  const pod = pods?.find(
    ({ status, metadata }) =>
      isSameAddress(status?.podIP ?? '', internalIp) && (ownVm === undefined || metadata.name !== ownVm),
  );
  if (pod !== undefined) return takenBy(name, internalIp, `pod ${fullName(pod)}`, '--internal-ip');
  const service = services?.find(({ spec }) => isSameAddress(spec.clusterIP ?? '', internalIp));
  if (service !== undefined)
    return takenBy(name, internalIp, `Service ${fullName(service)}`, '--internal-ip');
  if (pods === undefined || services === undefined) {
    const unread = pods === undefined ? 'the pods' : 'the Services';
    return {
      name,
      result: 'unknown',
      detail: `you may not list ${unread} of the cluster, so ${internalIp} was not checked`,
    };
  }
  return { name, result: 'ok', detail: `${internalIp} is free` };
}

function clusterIpCheck(
  { internalIp, ownVm }: DirectorSpec,
  { services }: ClusterFacts,
  { clusterIpRejection }: ProbeResults,
): Check {
  const name = 'Address';
  const service = services?.find(({ spec }) => isSameAddress(spec.clusterIP ?? '', internalIp));
  if (service !== undefined && isOwnedBy(service, ownVm))
    return { name, result: 'ok', detail: `${internalIp} is the director's already` };
  if (service !== undefined)
    return takenBy(name, internalIp, `Service ${fullName(service)}`, '--internal-ip');
  if (clusterIpRejection === undefined)
    return {
      name,
      result: 'unknown',
      detail: `you may not create Services, so ${internalIp} was not checked`,
    };
  if (clusterIpRejection === '')
    return { name, result: 'ok', detail: `${internalIp}, of a Service, is free` };
  const detail = `${internalIp} is not usable as a cluster IP (${clusterIpRejection}): choose a free one with --internal-ip`;
  return { name, result: 'missing', detail, isNeeded: true };
}

function nodePortCheck({ nodePorts, ownVm }: DirectorSpec, { services }: ClusterFacts): Check {
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
