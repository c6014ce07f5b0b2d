import { readFile } from 'node:fs/promises';
import { checkOwner, parseNodeArgument } from '../../../embedded-cluster/index.ts';
import { ProductError } from '../../errors/product-error.ts';
import { invalidArguments, parseFlags } from '../args/parse-command-line.ts';
import { describeMissingCluster, embeddedCluster, type StartOptions } from '../cluster/embedded-cluster.ts';
import { withClusterLock } from '../cluster/installation-lock.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import type { Command } from '../command.ts';

/** The embedded cluster without a deployment, for kubectl, for tests, or for another bosh CLI. */
export const cluster: Command = {
  name: 'cluster',
  usage: 'start [--node NAME=ZONE]...|stop|status|kubeconfig',
  summary: 'Run only the embedded cluster; kubeconfig prints the settings for kubectl',
  async run([verb, ...rest], { installation, terminal }) {
    if (rest.length > 0 && verb !== 'start')
      throw new ProductError('INVALID_ARGUMENT', `'cluster ${verb ?? ''}' takes no further arguments`);
    const embedded = embeddedCluster(installation);
    const report = (line: string): void => terminal.error(line);
    switch (verb) {
      case 'start':
        await withClusterLock(installation, 'start', () => embedded.start(report, nodesOf(rest)));
        terminal.out(`${await embedded.describe()}\n`);
        return 0;
      case 'stop':
        terminal.out(
          (await withClusterLock(installation, 'stop', () => embedded.stop()))
            ? 'Stopped.\n'
            : 'Not running.\n',
        );
        return 0;
      case 'status':
        terminal.out(`${await embedded.describe()}\n`);
        return (await embedded.isRunning()) ? 0 : 3;
      case 'kubeconfig':
        if (!(await embedded.isRunning()))
          terminal.error('The cluster is not running; this kubeconfig is for when it runs.');
        terminal.out(await readKubeconfig(kubeconfigPath(installation.clusterDirectory)));
        return 0;
      default:
        throw new ProductError('INVALID_ARGUMENT', `'cluster' needs one of start, stop, status, kubeconfig`);
    }
  },
};

/** Parses `--node NAME=ZONE`, which may be repeated. Throws INVALID_ARGUMENT. */
function nodesOf(args: string[]): StartOptions {
  const { node: nodes = [] } = parseFlags(
    args,
    { node: { type: 'string', multiple: true } },
    invalidArguments('cluster start [--node NAME=ZONE]...'),
  );
  for (const node of nodes) parseNodeArgument(node);
  return { nodes };
}

async function readKubeconfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new ProductError(
      'FILE_NOT_FOUND',
      'There is no cluster yet. Create one with: bosh-kubernetes cluster start',
      { cause: error },
    );
  }
}

export const stop: Command = {
  name: 'stop',
  usage: '',
  summary: 'Stop the embedded cluster with everything on it; all data is kept',
  async run([word], { installation, terminal }) {
    if (word !== undefined)
      throw new ProductError('INVALID_ARGUMENT', `'stop' takes no further arguments, but got '${word}'`);
    await checkOwner(installation.clusterDirectory, 'stop');
    const missing = describeMissingCluster(installation);
    if (missing !== undefined) {
      terminal.out(`Not running; ${missing}\n`);
      return 0;
    }
    const stopped = await withClusterLock(installation, 'stop', () => embeddedCluster(installation).stop());
    terminal.out(
      stopped ? 'Stopped. The data is kept; the next start brings the same VMs back.\n' : 'Not running.\n',
    );
    return 0;
  },
};
