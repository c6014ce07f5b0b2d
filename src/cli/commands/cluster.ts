import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { parseNodeArgument } from '../../../embedded-cluster/node/parse-node.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Command } from '../command.ts';
import { kubeconfigPath } from '../connect.ts';
import { embeddedCluster, type StartOptions } from '../embedded-cluster.ts';
import { withClusterLock } from '../hold-cluster.ts';

/** The embedded cluster without a deployment, for kubectl, for tests, or for another bosh CLI. */
export const cluster: Command = {
  name: 'cluster',
  usage: 'start [--node NAME=ZONE]...|stop|status|kubeconfig',
  summary: 'Run the embedded cluster alone; kubeconfig prints what kubectl needs',
  async run([verb, ...rest], { installation, terminal }) {
    if (rest.length > 0 && verb !== 'start')
      throw new ProductError('INVALID_ARGUMENT', `'cluster ${verb ?? ''}' takes no further words`);
    const embedded = embeddedCluster(installation);
    const say = (line: string): void => terminal.error(line);
    switch (verb) {
      case 'start':
        await withClusterLock(installation, 'start', () => embedded.start(say, nodesOf(rest)));
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
          terminal.error('The cluster is not running; this is how to reach it when it is.');
        terminal.out(await readKubeconfig(kubeconfigPath(installation.clusterDirectory)));
        return 0;
      default:
        throw new ProductError('INVALID_ARGUMENT', `'cluster' wants one of start, stop, status, kubeconfig`);
    }
  },
};

/** Parses `--node NAME=ZONE`, which may be repeated. Throws INVALID_ARGUMENT. */
function nodesOf(args: string[]): StartOptions {
  const values = parseWords(args);
  const { node: nodes = [] } = values;
  for (const node of nodes) parseNodeArgument(node);
  return { nodes };
}

function parseWords(args: string[]): { readonly node?: string[] } {
  const option = { type: 'string', multiple: true } as const;
  try {
    return parseArgs({ args, options: { node: option } }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `'cluster start' accepts only --node NAME=ZONE`;
    throw new ProductError('INVALID_ARGUMENT', message, { cause: error });
  }
}

async function readKubeconfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new ProductError(
      'FILE_NOT_FOUND',
      'There is no cluster yet. Make one with: bosh-kubernetes cluster start',
      { cause: error },
    );
  }
}
