import { readFile } from 'node:fs/promises';
import { parseSimulatedNode } from '../../cluster/node/simulated/parse-simulated-node.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Command } from '../command.ts';
import { kubeconfigPath } from '../connect.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { holdLock } from '../hold-lock.ts';

/** The embedded cluster without a deployment: for kubectl, for tests, for a bosh CLI of one's own. */
export const cluster: Command = {
  name: 'cluster',
  usage: 'start [--simulated-node NAME=ZONE]...|stop|status|kubeconfig',
  summary: 'Run the embedded cluster alone; kubeconfig prints what kubectl needs',
  async run([verb, ...rest], { installation, terminal }) {
    const simulatedNodes = verb === 'start' ? simulatedNodesOf(rest) : [];
    if (rest.length > 0 && simulatedNodes.length === 0)
      throw new ProductError('INVALID_ARGUMENT', `'cluster ${verb ?? ''}' takes no further words`);
    const embedded = embeddedCluster(installation);
    const say = (line: string): void => terminal.error(line);
    switch (verb) {
      case 'start':
        await holdLock(installation.lockPath, () => embedded.start(say, { simulatedNodes }));
        terminal.out(`${await embedded.describe()}\n`);
        return 0;
      case 'stop':
        terminal.out(
          (await holdLock(installation.lockPath, () => embedded.stop())) ? 'Stopped.\n' : 'Not running.\n',
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

/** `--simulated-node NAME=ZONE`, as often as wanted. Throws INVALID_ARGUMENT. */
function simulatedNodesOf(words: readonly string[]): string[] {
  const nodes = words.flatMap((word, index) => (index % 2 === 1 ? [word] : []));
  if (words.length % 2 === 1 || words.some((word, index) => index % 2 === 0 && word !== '--simulated-node')) {
    throw new ProductError('INVALID_ARGUMENT', `'cluster start' takes --simulated-node NAME=ZONE alone`);
  }
  for (const node of nodes) parseSimulatedNode(node);
  return nodes;
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
