import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { isSameAddress, parseIpRange } from '../../bosh/manifest/ip-range.ts';
import { isSystemDomain, maxDomainLength } from '../../director/cloud-foundry/system-domain.ts';
import type { FoundryOptions } from '../../director/cloud-foundry/prepare-cloud-foundry.ts';
import { layouts } from '../../director/cloud-foundry/layout-vms.ts';
import { targets, type Target } from '../../director/commands-script.ts';
import { accessModes, type AccessMode } from '../../director/director-directory.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
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

export const initUsage =
  `init [--for ${targets.join('|')}] [--way ${accessModes.join('|')}] [--kubeconfig FILE] [--context NAME] [--namespace NAME] ` +
  '[--internal-ip IP] [--internal-cidr CIDR] [--internal-gw IP] [--address HOST] [--static-volumes] [--static-ip] ' +
  '[--lasting-nats-credentials] [--release FILE] [--vm-stemcell FILE] ' +
  `[--with ${purposes.join('|')} [--layout ${layouts.join('|')}] [--system-domain DOMAIN] [--ephemeral-storage-class NAME] ` +
  '[--one-cell] [--volume-services]] --stemcell FILE DIRECTORY';

const options = {
  for: { type: 'string', default: 'any' },
  way: { type: 'string', default: 'tunnel' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string', default: 'bosh' },
  'internal-ip': { type: 'string' },
  'internal-cidr': { type: 'string' },
  'internal-gw': { type: 'string' },
  address: { type: 'string' },
  'static-volumes': { type: 'boolean', default: false },
  'static-ip': { type: 'boolean', default: false },
  release: { type: 'string' },
  'lasting-nats-credentials': { type: 'boolean', default: false },
  stemcell: { type: 'string' },
  'vm-stemcell': { type: 'string' },
  with: { type: 'string' },
  layout: { type: 'string' },
  'system-domain': { type: 'string' },
  'ephemeral-storage-class': { type: 'string' },
  'one-cell': { type: 'boolean', default: false },
  'volume-services': { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof parseCommandLine<typeof options>>['values'];

/** Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseInitArguments(args: readonly string[]): InitArguments {
  const { values, positionals } = parseCommandLine(args, options, invalid);
  const [directory, extra] = positionals;
  if (directory === undefined)
    throw invalid('DIRECTORY is missing; the files of the director are written to it');
  if (extra !== undefined) throw invalid('Name one DIRECTORY');
  const { stemcell, 'vm-stemcell': vmStemcell, namespace, kubeconfig, context, release, address } = values;
  if (stemcell === undefined)
    throw invalid(
      "--stemcell FILE is missing: a light stemcell, as 'bosh-kubernetes stemcell build' writes it",
    );
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u.test(namespace))
    throw invalid(`--namespace '${namespace}' is not a valid namespace name`);
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

const invalid = invalidArguments(`director ${initUsage}`);
