import { resolve } from 'node:path';
import { foundryParts, type FoundryPart } from '../../doctor/cloud-foundry-findings.ts';
import type { Account } from '../../doctor/cluster/access-review.ts';
import { isDnsLabel, isDnsSubdomain } from '../../kubernetes/names.ts';
import { canonicalAddress, familyOf } from '../../platform/ip-address.ts';
import { clusterFlags } from './flags.ts';
import { expandHome, invalidArguments, parseFlags, type InvalidArguments } from './parse-command-line.ts';

/** What the nodes are examined for. */
const purposes = ['cloud-foundry'] as const;

interface ClusterArguments {
  /** Undefined: chosen like kubectl, or that of the embedded cluster. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** The namespace of the VMs. */
  readonly namespace: string;
}

interface ImageArguments {
  /** The absolute path of a light stemcell. */
  readonly stemcell: string;
  readonly imagePullSecrets: readonly string[];
}

/** Nodes are examined for the jobs of Cloud Foundry. */
export interface NodesArguments extends ClusterArguments, ImageArguments {
  readonly kind: 'nodes';
  /** The parts of the layout that need more of the nodes than every layout does. */
  readonly parts: readonly FoundryPart[];
}

/** What `--try` makes. */
export interface TrialArguments extends ImageArguments {
  /** Undefined: the default class. */
  readonly storageClass: string | undefined;
  readonly diskSizeMiB: number;
  /** A free address of the network of the pods. */
  readonly address: string | undefined;
  readonly kubeletRootDirectory: string | undefined;
}

/** The cluster is examined for the CPI. */
export interface ExaminationArguments extends ClusterArguments {
  readonly kind: 'cluster';
  readonly diskNamespace: string;
  /** The account of the CPI. Undefined: the user of the kubeconfig. */
  readonly account: Account | undefined;
  /** Undefined: nothing is changed. */
  readonly trial: TrialArguments | undefined;
}

/** For `--try` and `--with`. */
const imageFlags = {
  stemcell: { type: 'string', value: 'FILE', help: 'Light stemcell whose image the nodes run' },
  'image-pull-secret': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'Secret with the login of the registry',
  },
} as const;

/** Only for `--try`. */
const trialFlags = {
  'storage-class': { type: 'string', value: 'NAME', help: 'StorageClass of the disk' },
  'disk-size': { type: 'string', value: 'MIB', help: 'Size of the disk (default: 1024)' },
  address: { type: 'string', value: 'IP', help: 'Free address of the network of the pods' },
  'kubelet-root-dir': { type: 'string', value: 'FOLDER', help: 'Folder of the kubelets' },
} as const;

export const doctorFlags = {
  ...clusterFlags,
  kubeconfig: { ...clusterFlags.kubeconfig, help: 'Default: of kubectl, else the embedded one' },
  namespace: { type: 'string', value: 'NAME', help: 'Namespace of the VMs (default: bosh)' },
  'disk-namespace': { type: 'string', value: 'NAME', help: 'Namespace of the disks' },
  as: { type: 'string', value: 'ACCOUNT', help: 'system:serviceaccount:NAMESPACE:NAME' },
  try: { type: 'boolean', help: 'Also make a VM, a Service and a disk' },
  ...imageFlags,
  ...trialFlags,
  with: { type: 'string', values: purposes, help: 'Examine only the nodes, for these jobs' },
  needs: {
    type: 'string',
    multiple: true,
    value: 'PART',
    values: foundryParts,
    help: foundryParts.join(', '),
  },
} as const;

type Values = ReturnType<typeof parseFlags<typeof doctorFlags>>;

/** Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseDoctorArguments(args: readonly string[]): NodesArguments | ExaminationArguments {
  const invalid = invalidArguments('doctor [FLAGS]');
  const values = parseFlags(args, doctorFlags, invalid);
  return values.with === undefined ? parseExamination(values, invalid) : parseNodes(values, invalid);
}

/** Returns the first of the flags that the operator gave. */
const firstGiven = (values: Values, flags: Partial<Record<keyof Values, unknown>>): string | undefined =>
  Object.keys(flags).find((name) => values[name as keyof Values] !== undefined);

function parseNodes(values: Values, invalid: InvalidArguments): NodesArguments {
  if (!purposes.some((each) => each === values.with))
    throw invalid(`--with must be one of: ${purposes.join(', ')}`);
  const given = firstGiven(values, { try: true, as: true, 'disk-namespace': true, ...trialFlags });
  if (given !== undefined) throw invalid(`--${given} is not for --with`);
  const parts = (values.needs ?? []).map((name) => {
    const part = foundryParts.find((each) => each === name);
    if (part === undefined) throw invalid(`--needs '${name}' must be one of: ${foundryParts.join(', ')}`);
    return part;
  });
  return {
    ...{ kind: 'nodes', ...parseCluster(values, 'bosh', invalid), ...parseImage(values, invalid), parts },
  };
}

function parseExamination(values: Values, invalid: InvalidArguments): ExaminationArguments {
  if (values.needs !== undefined) throw invalid('--needs is for --with');
  const account = values.as === undefined ? undefined : parseAccount(values.as, invalid);
  const common = parseCluster(values, account?.namespace ?? 'bosh', invalid);
  const diskNamespace = values['disk-namespace'] ?? common.namespace;
  if (!isDnsLabel(diskNamespace)) throw invalid('--disk-namespace is not a valid name of a namespace');
  const given = firstGiven(values, { ...imageFlags, ...trialFlags });
  if (values.try !== true && given !== undefined) throw invalid(`--${given} is for --try`);
  const trial = values.try === true ? parseTrial(values, invalid) : undefined;
  return { kind: 'cluster', ...common, diskNamespace, account, trial };
}

function parseAccount(given: string, invalid: InvalidArguments): Account {
  const [, namespace = '', name = ''] = /^system:serviceaccount:([^:]+):([^:]+)$/u.exec(given) ?? [];
  if (isDnsLabel(namespace) && isDnsSubdomain(name)) return { namespace, name };
  throw invalid('--as must be a service account, such as system:serviceaccount:bosh:bosh-cpi');
}

function parseCluster(values: Values, defaultNamespace: string, invalid: InvalidArguments): ClusterArguments {
  const { kubeconfig, context, namespace = defaultNamespace } = values;
  if (!isDnsLabel(namespace)) throw invalid('--namespace is not a valid name of a namespace');
  const file = kubeconfig === undefined ? undefined : absolute(kubeconfig);
  return { kubeconfig: file, context, namespace };
}

function parseImage(
  { stemcell, 'image-pull-secret': imagePullSecrets = [] }: Values,
  invalid: InvalidArguments,
): ImageArguments {
  if (stemcell === undefined)
    throw invalid(
      '--stemcell FILE is missing: a light stemcell, whose image the nodes run; the embedded cluster runs no images',
    );
  if (!imagePullSecrets.every(isDnsSubdomain))
    throw invalid('--image-pull-secret is not a valid name of a Secret');
  return { stemcell: absolute(stemcell), imagePullSecrets };
}

function parseTrial(values: Values, invalid: InvalidArguments): TrialArguments {
  const { 'storage-class': storageClass, 'disk-size': size = '1024', address } = values;
  if (!/^[1-9]\d{0,8}$/u.test(size)) throw invalid('--disk-size must be a number of MiB');
  if (address !== undefined && familyOf(address) === undefined)
    throw invalid('--address is not an IP address');
  return {
    ...parseImage(values, invalid),
    ...{ storageClass, diskSizeMiB: Number(size) },
    address: address === undefined ? undefined : canonicalAddress(address),
    kubeletRootDirectory: values['kubelet-root-dir'],
  };
}

const absolute = (path: string): string => resolve(expandHome(path));
