import { resolve } from 'node:path';
import { foundryParts, type FoundryPart } from '../../doctor/cloud-foundry-findings.ts';
import { isDnsLabel, isDnsSubdomain } from '../../kubernetes/names.ts';
import { clusterFlags } from './flags.ts';
import { expandHome, invalidArguments, parseFlags } from './parse-command-line.ts';

/** What the nodes are examined for. */
const purposes = ['cloud-foundry'] as const;

export const doctorUsage = `--with ${purposes.join('|')} --stemcell FILE`;

export interface DoctorArguments {
  /** The absolute path of a light stemcell. */
  readonly stemcell: string;
  /** Undefined: chosen like kubectl. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** The namespace of the VMs. */
  readonly namespace: string;
  readonly imagePullSecrets: readonly string[];
  /** The parts of the layout that need more of the nodes than every layout does. */
  readonly parts: readonly FoundryPart[];
}

export const doctorFlags = {
  with: { type: 'string', values: purposes, help: 'What the nodes are examined for' },
  needs: {
    type: 'string',
    multiple: true,
    value: 'PART',
    values: foundryParts,
    help: foundryParts.join(', '),
  },
  stemcell: { type: 'string', value: 'FILE', help: 'Light stemcell whose image the nodes run' },
  ...clusterFlags,
  namespace: { type: 'string', value: 'NAME', default: 'bosh', help: 'Namespace of the VMs' },
  'image-pull-secret': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'Secret with the login of the registry',
  },
} as const;

/** Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseDoctorArguments(args: readonly string[]): DoctorArguments {
  const invalid = invalidArguments(`doctor ${doctorUsage}`);
  const values = parseFlags(args, doctorFlags, invalid);
  const { with: purpose, stemcell, kubeconfig, context, namespace } = values;
  if (!purposes.some((each) => each === purpose))
    throw invalid(`--with must be one of: ${purposes.join(', ')}`);
  if (stemcell === undefined)
    throw invalid('--stemcell FILE is missing: the light stemcell of the cells, whose image the nodes run');
  if (!isDnsLabel(namespace)) throw invalid('--namespace is not a valid name of a namespace');
  const { 'image-pull-secret': imagePullSecrets = [] } = values;
  if (!imagePullSecrets.every(isDnsSubdomain))
    throw invalid('--image-pull-secret is not a valid name of a Secret');
  const parts = (values.needs ?? []).map((name) => {
    const part = foundryParts.find((each) => each === name);
    if (part === undefined) throw invalid(`--needs '${name}' must be one of: ${foundryParts.join(', ')}`);
    return part;
  });
  const path = (given: string): string => resolve(expandHome(given));
  return {
    ...{ stemcell: path(stemcell), context, namespace, imagePullSecrets, parts },
    kubeconfig: kubeconfig === undefined ? undefined : path(kubeconfig),
  };
}
