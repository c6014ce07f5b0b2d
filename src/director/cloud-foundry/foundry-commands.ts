import { join } from 'node:path';

/** The folder of Cloud Foundry's files in the folder of a director. */
export const foundryFolder = 'cloud-foundry';

/** The vars store of the deployment: its passwords and keys. */
export const varsStore = 'cf-vars.yml';

const cfDeployment = 'v58.0.0';

/** The commit of bosh-deployment whose runtime-config of bosh-dns our ops file is for. */
const boshDeployment = 'c3b2109fe48267c599704eaa9aa62a0735a95707';

/** What differs between two deployments of Cloud Foundry. Paths are relative to the folder of the director. */
export interface FoundryScript {
  /** In the order of their use. */
  readonly opsFiles: readonly string[];
  readonly dnsOpsFiles: readonly string[];
  /** The values of `doctor --needs`. */
  readonly needs: readonly string[];
  readonly hasVolumeServices: boolean;
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

/**
 * Returns the commands of a deployment of Cloud Foundry, for a shell with the director's environment. What
 * refuses comes first: the doctor, then our ops files, whose sentences the bosh CLI does not print.
 */
export function foundryCommands(
  { opsFiles, dnsOpsFiles, needs, hasVolumeServices }: FoundryScript,
  { root, context, namespace, stemcell }: FoundryPlace,
  line: Line,
): string[] {
  const ours = ['node', join(root, 'bin', 'bosh-kubernetes.mjs')];
  const options = (flag: string, values: readonly string[]): string[] =>
    values.flatMap((value) => [flag, value]);
  const [variables, dns] = [`${foundryFolder}/vars.yml`, `${foundryFolder}/dns.yml`];
  const manifest = ['cf-deployment/cf-deployment.yml', ...options('-o', opsFiles), '-l', variables];
  const clone = ['git', 'clone', '--depth', '1', '--branch', cfDeployment];
  return [
    line(
      ...[...ours, 'doctor', '--with', 'cloud-foundry', ...options('--needs', needs)],
      ...['--stemcell', stemcell, ...(context === undefined ? [] : ['--context', context])],
      ...(namespace === 'bosh' ? [] : ['--namespace', namespace]),
    ),
    `test -d cf-deployment || ${line(...clone, 'https://github.com/cloudfoundry/cf-deployment')}`,
    `${line(...ours, 'interpolate', ...manifest)} > /dev/null`,
    `${line('git', '-C', 'bosh-deployment', 'show', `${boshDeployment}:runtime-configs/dns.yml`)} > ${dns}`,
    line('bosh', 'upload-stemcell', '--fix', stemcell),
    ...(hasVolumeServices
      ? [
          line('npm', '--prefix', root, 'run', 'build:volumes-release'),
          line('bosh', 'upload-release', join(root, 'dist', 'bosh-kubernetes-volumes-release.tgz')),
        ]
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
