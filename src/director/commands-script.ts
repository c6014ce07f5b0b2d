import { join } from 'node:path';
import { shellWord } from '../platform/shell-word.ts';
import { accountName, clusterNamespace } from '../doctor/cluster/cluster-facts.ts';
import { cloneLine } from './clone-line.ts';
import { foundryCommands, type FoundryScript, type Line } from './cloud-foundry/foundry-commands.ts';
import type { AccessMode } from './director-directory.ts';

/** The kind of cluster that the operator starts. */
export const targets = ['minikube', 'kind', 'any'] as const;
export type Target = (typeof targets)[number];

/** The input of commands.sh. All paths are absolute. */
export interface ScriptParts {
  readonly directory: string;
  /** The folder of this package. */
  readonly root: string;
  readonly target: Target;
  readonly way: AccessMode;
  readonly kubeconfig: string;
  readonly context: string | undefined;
  readonly namespace: string;
  /** The stemcell of the VMs that the director creates; undefined if its agent cannot speak to a director. */
  readonly vmStemcell: string | undefined;
  /** Output folders of `stemcell build`, whose images must be loaded onto the nodes. */
  readonly stemcellDirectories: readonly string[];
  /** Paths in the folder, in the order of their use. */
  readonly opsFiles: readonly string[];
  /** Undefined: the director gets a first deployment, examples/hello. */
  readonly cloudFoundry: FoundryScript | undefined;
}

/** Returns the text of commands.sh, one command per line, from the cluster to a deployment. */
export function commandsScript(parts: ScriptParts): string {
  const { directory, root, kubeconfig, namespace } = parts;
  const line: Line = (...args) => args.map(shellWord).join(' ');
  const kubectl = ['kubectl', ...(parts.context === undefined ? [] : ['--context', parts.context])];
  const ours = ['node', join(root, 'bin', 'bosh-kubernetes.mjs')];
  const createEnv = [
    ...[
      'bosh',
      'create-env',
      'bosh-deployment/bosh.yml',
      '--state',
      'state.json',
      '--vars-store',
      'creds.yml',
    ],
    ...['-l', 'vars.yml', '--var-file', 'kubernetes_token=token'],
    ...parts.opsFiles.flatMap((path) => ['-o', path]),
  ];
  const through = parts.way === 'tunnel' ? [...ours, 'tunnel', '--directory', '.', '--'] : [];
  const token = ['create', 'token', accountName, '-n', namespace, '--duration', '8h'];
  // an administrator creates an account in another namespace, before init
  const manifestLines =
    namespace === clusterNamespace
      ? [line(...kubectl, 'apply', '-k', join(root, 'manifests', 'cluster'))]
      : [];
  return `#!/usr/bin/env bash
# The commands from a cluster to a deployment. docs/director.md explains them. Each line may be run again.
# 'bosh-kubernetes director init' wrote this file; it recognizes an edited copy and does not overwrite it.
set -euo pipefail
umask 077
${line('cd', directory)}
${line('export', `KUBECONFIG=${kubeconfig}`)}

# 1. The cluster: namespace, account, roles, volumes
${[...clusterLines(parts.target), ...manifestLines].join('\n')}
${stemcellLines(parts, line, ours)}
# 2. The director. The CPI on this machine uses a token that expires after eight hours: create another one on another day.
${cloneLine('bosh-deployment')}
${line(...kubectl, ...token)} > token
${line(...through, ...createEnv)}

# 3. The access to the director, for this shell
eval "$(${line(...ours, 'director', 'print-env', '.')})"
bosh env

${deploymentLines(parts, line).join('\n')}
`;
}

function clusterLines(target: Target): string[] {
  // containerd: docker in minikube does not keep the digest of a loaded image
  if (target === 'minikube') return ['minikube start --container-runtime=containerd'];
  if (target === 'kind') return ['kind get clusters | grep -qx kind || kind create cluster'];
  return [];
}

function stemcellLines(
  { target, stemcellDirectories }: ScriptParts,
  line: Line,
  ours: readonly string[],
): string {
  if (target === 'any') return '';
  return stemcellDirectories
    .map((directory) => `${line(...ours, 'stemcell', 'load', directory, '--to', target)}\n`)
    .join('');
}

/** Cloud Foundry replaces the cloud-config of the first deployment, which could not be changed then. */
function deploymentLines(parts: ScriptParts, line: Line): string[] {
  const { cloudFoundry, vmStemcell, root } = parts;
  if (cloudFoundry !== undefined && vmStemcell !== undefined)
    return [
      '# 4. Cloud Foundry. docs/cloud-foundry.md explains it.',
      ...foundryCommands(cloudFoundry, { ...parts, stemcell: vmStemcell }, line),
    ];
  const title = '# 4. A first deployment';
  const cloudConfig = 'bosh -n update-cloud-config -l vars.yml cloud-config.yml';
  if (vmStemcell === undefined) {
    const sentence =
      'No first deployment: the agent of the stemcell does not speak NATS; name a stemcell of this version with director init ' +
      '--vm-stemcell FILE (docs/director.md)';
    return [title, cloudConfig, `${line('echo', sentence)} >&2`];
  }
  return [
    title,
    cloudConfig,
    line('bosh', 'upload-stemcell', '--fix', vmStemcell),
    line('bosh', 'upload-release', join(root, 'dist', 'hello-release.tgz')),
    line(
      ...['bosh', '-n', '-d', 'hello', 'deploy', '-l', 'vars.yml'],
      join(root, 'examples', 'hello', 'deployment.yml'),
    ),
  ];
}
