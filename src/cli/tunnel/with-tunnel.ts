import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { describeCluster, isSameCluster } from '../../deploy/state/recorded-cluster.ts';
import { directorFilePath, readDirectorFile, type DirectorFile } from '../../director/director-directory.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { pods } from '../../kubernetes/resources.ts';
import { connectTo } from '../../tunnel/find-route.ts';
import { parseNameMap, parseNetworks } from '../../tunnel/options.ts';
import type { Destination } from '../../tunnel/socks5.ts';
import {
  environmentKubeconfig,
  identifyCluster,
  kubeconfigPath,
  withKubernetes,
} from '../cluster/kubeconfig.ts';
import type { CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import type { TunnelFlags } from '../args/tunnel-arguments.ts';

/** Dials a destination: through port forwarding if it is in the cluster's namespaces, otherwise directly. */
export type TunnelDialer = (destination: Destination) => Promise<Duplex>;

/**
 * Runs `action` with a dialer into the cluster of a director's directory or of flags; flags take precedence.
 * Fails before that with OTHER_CLUSTER if the kubeconfig is for another cluster than the director's, with
 * NOT_SUPPORTED for the embedded cluster, with the API's error if the role may not list pods, and with
 * INTERRUPTED if the signal is aborted until then. Later the signal is up to `action`.
 */
export async function withTunnel<T>(
  flags: TunnelFlags,
  {
    environment,
    secrets,
    installation,
    terminal,
    signal,
  }: Pick<CommandContext, 'environment' | 'secrets' | 'installation' | 'terminal' | 'signal'>,
  action: (way: TunnelDialer) => Promise<T>,
): Promise<T> {
  const directory = flags.directory ?? process.cwd();
  const file = await readDirectorFile(directory);
  if (file === undefined && flags.directory !== undefined) throw noDirectorFile(directory);
  const kubeconfig = flags.kubeconfig ?? file?.cluster.kubeconfig ?? operatorKubeconfig(environment);
  if (resolve(kubeconfig) === kubeconfigPath(installation.clusterDirectory)) throw embedded();
  const networks = parseNetworks([...(file?.networks ?? []), ...flags.networks]);
  const context = flags.context ?? (flags.kubeconfig === undefined ? file?.context : undefined);
  const opening = new AbortController();
  const interrupt = (): void => opening.abort(signal.reason);
  if (signal.aborted) interrupt();
  signal.addEventListener('abort', interrupt);
  const work = withKubernetes(
    kubeconfig,
    async (api, access) => {
      const named = [...new Set([...(file?.namespaces ?? []), ...flags.namespaces])];
      const namespaces = named.length > 0 ? named : [access.namespace];
      const names = parseNameMap(flags.maps, namespaces);
      await withLiveProgress(terminal, 'Opening the tunnel', async () => {
        if (file !== undefined) await assertSameCluster({ directory, file, kubeconfig }, api, access);
        await Promise.all(namespaces.map((namespace) => checkNamespace(api, namespace)));
      });
      signal.removeEventListener('abort', interrupt);
      const options = { access, api, namespaces, networks, names };
      return action((destination) => connectTo(destination, options));
    },
    { environment, context, signal: opening.signal, onSecrets: secrets.add },
  );
  try {
    return await interruptible(work, opening.signal, notOpened);
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

const notOpened = { result: 'The tunnel was not opened', next: 'run the same command again' };

/** Chooses the kubeconfig like kubectl. */
function operatorKubeconfig(environment: Readonly<Record<string, string | undefined>>): string {
  const path = environmentKubeconfig(environment) ?? join(homedir(), '.kube', 'config');
  if (existsSync(path)) return path;
  throw new ProductError(
    'FILE_NOT_FOUND',
    `There is no kubeconfig '${path}'; name the cluster with --kubeconfig, KUBECONFIG, or --directory and a folder of 'director init'`,
  );
}

export function noDirectorFile(directory: string): ProductError {
  return new ProductError(
    'FILE_NOT_FOUND',
    `There is no '${directorFilePath(directory)}'; --directory names a folder that 'director init' wrote`,
  );
}

const embedded = (): ProductError =>
  new ProductError(
    'NOT_SUPPORTED',
    "The embedded cluster serves no port forwarding and needs no tunnel: its pods' addresses are this machine's own",
  );

interface DirectorDirectory {
  readonly directory: string;
  readonly file: DirectorFile;
  readonly kubeconfig: string;
}

async function assertSameCluster(
  { directory, file, kubeconfig }: DirectorDirectory,
  api: KubernetesApi,
  access: Access,
): Promise<void> {
  const here = await identifyCluster(api, access, kubeconfig);
  if (isSameCluster(here, file.cluster)) return;
  throw new ProductError(
    'OTHER_CLUSTER',
    `The director of '${directory}' is on ${describeCluster(file.cluster)}, and not on ${describeCluster(here)}; name a kubeconfig of the first with --kubeconfig and --context`,
  );
}

/**
 * Fails early if the namespace or the role's permissions are missing, and not only when a client waits for a
 * response.
 */
async function checkNamespace(api: KubernetesApi, namespace: string): Promise<void> {
  await api.list(pods, { namespace, fieldSelector: 'metadata.name=none' });
}
