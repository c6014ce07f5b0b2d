import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isSameAddress, parseIpRange } from '../../bosh/manifest/ip-range.ts';
import { isSystemDomain, maxDomainLength } from '../../director/cloud-foundry/system-domain.ts';
import type { FoundryOptions } from '../../director/cloud-foundry/prepare-cloud-foundry.ts';
import { layouts } from '../../director/cloud-foundry/layout-vms.ts';
import { targets, type Target } from '../../director/commands-script.ts';
import { accessModes, type AccessMode } from '../../director/director-directory.ts';
import { isDnsLabel, isDnsSubdomain } from '../../kubernetes/names.ts';
import { clusterFlags } from './flags.ts';
import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

/** The arguments of `director init`, validated as far as possible without other data. Paths are absolute. */
export interface InitArguments {
  readonly directory: string;
  readonly target: Target;
  readonly way: AccessMode;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string;
  /** The stemcell of the director's own VM. */
  readonly stemcell: string;
  /** The stemcell of the VMs that the director creates. Undefined: `stemcell`. */
  readonly vmStemcell: string | undefined;
  /** Undefined: the release of this installation. */
  readonly release: string | undefined;
  readonly internalIp: string | undefined;
  readonly network: { readonly range: string; readonly gateway: string } | undefined;
  readonly outsideAddress: string | undefined;
  readonly hasStaticVolumes: boolean;
  /** True if the plugin static-ip assigns addresses although its DaemonSet is not found. */
  readonly hasStaticIp: boolean;
  /** True if VMs keep their first NATS certificate. */
  readonly hasLastingNatsCredentials: boolean;
  /** Undefined: only a director. */
  readonly cloudFoundry: FoundryOptions | undefined;
}

/** The values of `--with`. */
const purposes = ['cloud-foundry'] as const;

export const initUsage = '--stemcell FILE DIRECTORY';

export const initFlags = {
  stemcell: { type: 'string', value: 'FILE', help: "Light stemcell of the director's own VM" },
  'vm-stemcell': { type: 'string', value: 'FILE', help: 'Another stemcell for the VMs of the director' },
  for: { type: 'string', values: targets, default: 'any', help: 'Kind of cluster' },
  way: {
    type: 'string',
    value: 'WAY',
    values: accessModes,
    default: 'tunnel',
    help: accessModes.join('|'),
  },
  ...clusterFlags,
  namespace: { type: 'string', value: 'NAME', default: 'bosh', help: 'Namespace of director and VMs' },
  address: { type: 'string', value: 'HOST', help: 'Address of the node or load balancer' },
  'internal-ip': { type: 'string', value: 'IP', help: 'Address of the director in the cluster' },
  'internal-cidr': {
    type: 'string',
    value: 'CIDR',
    help: 'Network of the pods, with --way direct',
    isRare: true,
  },
  'internal-gw': {
    type: 'string',
    value: 'IP',
    help: 'Gateway of the pods, with --way direct',
    isRare: true,
  },
  'static-volumes': {
    type: 'boolean',
    default: false,
    help: 'Use the volumes of manifests/cluster',
    isRare: true,
  },
  'static-ip': { type: 'boolean', default: false, help: 'The nodes have the plugin static-ip', isRare: true },
  release: {
    type: 'string',
    value: 'FILE',
    help: 'Release of the CPI (default: of this version)',
    isRare: true,
  },
  'lasting-nats-credentials': {
    type: 'boolean',
    default: false,
    isRare: true,
    help: 'VMs keep their first NATS certificate',
  },
  with: { type: 'string', values: purposes, help: 'Also check and write Cloud Foundry' },
  layout: { type: 'string', value: 'LAYOUT', values: layouts, help: layouts.join(' or ') },
  'system-domain': { type: 'string', value: 'DOMAIN', help: 'Domain of Cloud Foundry' },
  'ephemeral-storage-class': { type: 'string', value: 'NAME', help: 'StorageClass of its VMs', isRare: true },
  'one-cell': { type: 'boolean', default: false, help: 'Cloud Foundry with one cell', isRare: true },
  'volume-services': {
    type: 'boolean',
    default: false,
    help: 'Services for NFS and SMB shares',
    isRare: true,
  },
} as const;

type Values = ReturnType<typeof parseCommandLine<typeof initFlags>>['values'];

/** Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseInitArguments(args: readonly string[]): InitArguments {
  const { values, positionals } = parseCommandLine(args, initFlags, invalid);
  const [directory, extra] = positionals;
  if (directory === undefined)
    throw invalid('DIRECTORY is missing; the files of the director are written to it');
  if (extra !== undefined) throw invalid('Name one DIRECTORY');
  const { stemcell, 'vm-stemcell': vmStemcell, namespace, kubeconfig, context, release, address } = values;
  if (stemcell === undefined)
    throw invalid(
      "--stemcell FILE is missing: a light stemcell, as 'bosh-kubernetes stemcell build' writes it",
    );
  if (!isDnsLabel(namespace)) throw invalid(`--namespace '${namespace}' is not a valid namespace name`);
  const path = (text: string): string => resolve(expandHome(text));
  const way = oneOf('--way', accessModes, values.way);
  if (address !== undefined && !/^[A-Za-z0-9.:-]{1,253}$/u.test(address))
    throw invalid(`--address '${address}' is not a valid host name or IP address`);
  if (way === 'loadbalancer' && address === undefined)
    throw invalid('--way loadbalancer needs --address: the present or future address of the load balancer');
  return {
    directory: path(directory),
    target: oneOf('--for', targets, values.for),
    ...{ way, context, namespace, outsideAddress: address },
    kubeconfig: kubeconfig === undefined ? undefined : path(kubeconfig),
    stemcell: path(stemcell),
    vmStemcell: vmStemcell === undefined ? undefined : path(vmStemcell),
    release: release === undefined ? undefined : path(release),
    ...addresses(way, values),
    hasStaticVolumes: values['static-volumes'],
    hasStaticIp: values['static-ip'],
    hasLastingNatsCredentials: values['lasting-nats-credentials'],
    cloudFoundry: foundryOptions(values),
  };
}

function foundryOptions(values: Values): FoundryOptions | undefined {
  const { with: purpose, layout: layoutName, 'system-domain': systemDomain } = values;
  const { 'ephemeral-storage-class': ephemeralStorageClass, 'one-cell': hasOneCell } = values;
  const { 'volume-services': hasVolumeServices } = values;
  if (purpose === undefined) {
    const given = [layoutName, systemDomain, ephemeralStorageClass].some((value) => value !== undefined);
    if (!given && !hasOneCell && !hasVolumeServices) return undefined;
    throw invalid(`The options of Cloud Foundry need --with ${purposes.join('|')}`);
  }
  oneOf('--with', purposes, purpose);
  const layout = layoutName === undefined ? undefined : oneOf('--layout', layouts, layoutName);
  if (systemDomain !== undefined && !isSystemDomain(systemDomain))
    throw invalid(
      `--system-domain '${systemDomain}' is not a valid domain such as cf.example.com, without a wildcard, in lower case ` +
        `and with at most ${maxDomainLength} characters, which common names of certificates allow`,
    );
  if (ephemeralStorageClass !== undefined && !isDnsSubdomain(ephemeralStorageClass))
    throw invalid(
      `--ephemeral-storage-class '${ephemeralStorageClass}' is not a valid name of a storage class`,
    );
  return { layout, systemDomain, ephemeralStorageClass, hasOneCell, hasVolumeServices };
}

function addresses(way: AccessMode, values: Values): Pick<InitArguments, 'internalIp' | 'network'> {
  const { 'internal-ip': internalIp, 'internal-cidr': cidr, 'internal-gw': gateway } = values;
  if (internalIp !== undefined && isIP(internalIp) === 0)
    throw invalid(`--internal-ip '${internalIp}' is not a valid IP address`);
  if (way !== 'direct') {
    if (cidr !== undefined || gateway !== undefined)
      throw invalid('--internal-cidr and --internal-gw can be used only with --way direct');
    return { internalIp, network: undefined };
  }
  if (internalIp === undefined || cidr === undefined || gateway === undefined)
    throw invalid('--way direct needs --internal-ip, --internal-cidr and --internal-gw of the pod network');
  const range = parseIpRange(cidr);
  if (range === undefined)
    throw invalid(`--internal-cidr '${cidr}' is not a valid range such as 10.244.0.0/16`);
  for (const address of [internalIp, gateway])
    if (!range.contains(address)) throw invalid(`${address} is not in ${cidr}`);
  if ([gateway, range.first, range.last].some((each) => isSameAddress(each, internalIp)))
    throw invalid(`--internal-ip ${internalIp} is the gateway, or the first or last address of ${cidr}`);
  return { internalIp, network: { range: cidr, gateway } };
}

function oneOf<T extends string>(flag: string, known: readonly T[], text: string): T {
  const found = known.find((each) => each === text);
  if (found === undefined) throw invalid(`${flag} '${text}' must be one of ${known.join(', ')}`);
  return found;
}

const invalid = invalidArguments(`director init ${initUsage}`);
