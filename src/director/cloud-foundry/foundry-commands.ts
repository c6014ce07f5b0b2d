import { join } from 'node:path';
import { cloneLine } from '../clone-line.ts';

/** The folder of Cloud Foundry's files in the folder of a director. */
export const foundryFolder = 'cloud-foundry';

/** The vars store of the deployment: its passwords and keys. */
export const varsStore = 'cf-vars.yml';

const cfDeployment = 'v58.0.0';

/** The commit of bosh-deployment whose runtime-config of bosh-dns our ops file is for. */
const boshDeployment = 'c3b2109fe48267c599704eaa9aa62a0735a95707';

/**
 * What differs between two deployments of Cloud Foundry. Paths are relative to the folder of the
 * director.
 */
export interface FoundryScript {
  /** In the order of their use. */
  readonly opsFiles: readonly string[];
  readonly dnsOpsFiles: readonly string[];
  /** The values of `doctor --needs`. */
  readonly needs: readonly string[];
  readonly hasVolumeServices: boolean;
  /** It is deployed, and the folder has no vars store. */
  readonly lacksVarsStore: boolean;
}

export interface FoundryPlace {
  /** The folder of this package. */
  readonly root: string;
  readonly context: string | undefined;
  readonly namespace: string;
  /** The stemcell of the VMs. */
  readonly stemcell: string;
}

/** Joins the words of a command, quoted for a shell. */
export type Line = (...words: readonly string[]) => string;

/** Returns a line that ends the commands with the sentence if the condition is false. */
const orFail = (condition: string, sentence: string, line: Line): string =>
  `${condition} || { ${line('echo', sentence)} >&2; false; }`;

/** New passwords and keys would make the data of the databases unreadable. */
const noVarsStore =
  `Cloud Foundry is deployed, and ${varsStore} is missing: copy ${varsStore} and cf-dns.yml of its deployment into this folder. ` +
  `If the director has CredHub, remove this line and the option --vars-store ${varsStore} below`;

/**
 * Returns the commands of a deployment of Cloud Foundry, for a shell with the director's environment. What
 * refuses comes first: the doctor, then our ops files, whose sentences the bosh CLI does not print.
 */
export function foundryCommands(
  { opsFiles, dnsOpsFiles, needs, hasVolumeServices, lacksVarsStore }: FoundryScript,
  { root, context, namespace, stemcell }: FoundryPlace,
  line: Line,
): string[] {
  const ours = ['node', join(root, 'bin', 'bosh-kubernetes.mjs')];
  const options = (flag: string, values: readonly string[]): string[] =>
    values.flatMap((value) => [flag, value]);
  const [variables, dns] = [`${foundryFolder}/vars.yml`, 'cf-dns-runtime-config.yml'];
  const manifest = ['cf-deployment/cf-deployment.yml', ...options('-o', opsFiles), '-l', variables];
  const volumesRelease = 'bosh-kubernetes-volumes-release.tgz';
  const inBoshDeployment = ['git', '-C', 'bosh-deployment'];
  return [
    ...(lacksVarsStore ? [orFail(`test -f ${varsStore}`, noVarsStore, line)] : []),
    line(
      ...[...ours, 'doctor', '--with', 'cloud-foundry', ...options('--needs', needs)],
      ...['--stemcell', stemcell, ...(context === undefined ? [] : ['--context', context])],
      ...(namespace === 'bosh' ? [] : ['--namespace', namespace]),
    ),
    cloneLine('cf-deployment', '--depth', '1', '--branch', cfDeployment),
    orFail(
      `grep -q '^manifest_version: ${cfDeployment}$' cf-deployment/cf-deployment.yml`,
      `The folder cf-deployment is not ${cfDeployment}: move it away, and run this again`,
      line,
    ),
    `${line(...ours, 'interpolate', ...manifest)} > /dev/null`,
    `${line(...inBoshDeployment, 'cat-file', '-e', boshDeployment)} || ${line(...inBoshDeployment, 'fetch', 'origin', boshDeployment)}`,
    `${line(...inBoshDeployment, 'show', `${boshDeployment}:runtime-configs/dns.yml`)} > ${dns}`,
    line('bosh', 'upload-stemcell', '--fix', stemcell),
    ...(hasVolumeServices
      ? [line(...ours, 'release', 'volumes', volumesRelease), line('bosh', 'upload-release', volumesRelease)]
      : []),
    line(
      ...['bosh', '-n', 'update-runtime-config', '--name', 'dns', dns, ...options('-o', dnsOpsFiles)],
      ...['--vars-store', 'cf-dns.yml'],
    ),
    line('bosh', '-n', 'update-cloud-config', `${foundryFolder}/cloud-config.yml`, '-l', variables),
    line('bosh', '-n', '-d', 'cf', 'deploy', ...manifest, '--vars-store', varsStore),
    ...(hasVolumeServices
      ? ['nfs', 'smb'].map((protocol) =>
          line('bosh', '-n', '-d', 'cf', 'run-errand', `${protocol}-broker-push`),
        )
      : []),
  ];
}
