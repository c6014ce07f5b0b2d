import { readFile } from 'node:fs/promises';
import { checkOwner, parseNodeArgument } from '../../../embedded-cluster/index.ts';
import { ProductError } from '../../errors/product-error.ts';
import { invalidArguments, parseFlags } from '../args/parse-command-line.ts';
import { assertOutsideOfPackage } from '../assert-outside-of-package.ts';
import { describeMissingCluster, embeddedCluster, type StartOptions } from '../cluster/embedded-cluster.ts';
import { withClusterLock } from '../cluster/installation-lock.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { startCluster, stopCluster } from '../cluster/start-cluster.ts';
import type { Command } from '../command.ts';
import type { Installation } from '../installation.ts';
import { withSubCommands } from '../with-sub-commands.ts';

const nodeFlags = {
  node: {
    type: 'string',
    multiple: true,
    value: 'NAME=ZONE',
    help: 'A node and its availability zone',
  },
} as const;

/** The embedded cluster without a deployment, for kubectl, for tests, or for another bosh CLI. */
export const cluster = withSubCommands({
  name: 'cluster',
  summary: 'Run only the embedded cluster, for example for kubectl',
  documentation: 'docs/operating.md',
  subCommands: [
    {
      name: 'start',
      usage: '',
      operands: ['other'],
      summary: 'Start the cluster',
      flags: nodeFlags,
      example: '--node a=z1 --node b=z2',
      async run(args, context) {
        const { installation, terminal } = context;
        await assertOutsideOfPackage(installation.clusterDirectory, installation);
        const embedded = embeddedCluster(installation);
        await withClusterLock(installation, 'start', () => startCluster(embedded, context, nodesOf(args)));
        terminal.out(`${await embedded.describe()}\n`);
        return 0;
      },
    },
    {
      name: 'stop',
      usage: '',
      operands: ['other'],
      summary: 'Stop the cluster; all data is kept',
      async run(args, context) {
        refuseArguments('cluster stop', args);
        const stopped = await stopCluster(context);
        context.terminal.out(stopped ? 'Stopped.\n' : 'Not running.\n');
        return 0;
      },
    },
    {
      name: 'status',
      usage: '',
      operands: ['other'],
      summary: 'Show whether the cluster runs; the exit code is 3 if it does not',
      async run(args, { installation, terminal }) {
        refuseArguments('cluster status', args);
        const embedded = embeddedCluster(installation);
        terminal.out(`${await embedded.describe()}\n`);
        return (await embedded.isRunning()) ? 0 : 3;
      },
    },
    {
      name: 'kubeconfig',
      usage: '',
      operands: ['other'],
      summary: 'Print the kubeconfig of the cluster, for kubectl',
      example: '> kubeconfig.yml',
      async run(args, { installation, terminal }) {
        refuseArguments('cluster kubeconfig', args);
        if (!(await embeddedCluster(installation).isRunning()))
          terminal.error('The cluster is not running; this kubeconfig is for when it runs.');
        terminal.out(await readKubeconfig(installation));
        return 0;
      },
    },
  ],
});

function refuseArguments(command: string, args: readonly string[]): void {
  if (args.length > 0) throw new ProductError('INVALID_ARGUMENT', `'${command}' takes no further arguments`);
}

/** Parses `--node NAME=ZONE`, which may be repeated. Throws INVALID_ARGUMENT. */
function nodesOf(args: readonly string[]): StartOptions {
  const { node: nodes = [] } = parseFlags(args, nodeFlags, invalidArguments('cluster start'));
  for (const node of nodes) parseNodeArgument(node);
  return { nodes };
}

async function readKubeconfig(installation: Installation): Promise<string> {
  try {
    return await readFile(kubeconfigPath(installation.clusterDirectory), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const missing = describeMissingCluster(installation) ?? 'the cluster was never started';
    throw new ProductError(
      'FILE_NOT_FOUND',
      `There is no kubeconfig: ${missing}; 'bosh-kubernetes cluster start' creates a cluster`,
      { cause: error },
    );
  }
}

export const stop: Command = {
  name: 'stop',
  usage: '',
  operands: ['other'],
  summary: 'Stop the embedded cluster; all data is kept',
  documentation: 'docs/operating.md',
  async run([word], context) {
    const { installation, terminal } = context;
    if (word !== undefined)
      throw new ProductError('INVALID_ARGUMENT', `'stop' takes no further arguments, but got '${word}'`);
    await checkOwner(installation.clusterDirectory, 'stop');
    const missing = describeMissingCluster(installation);
    if (missing !== undefined) {
      terminal.out(`Not running; ${missing}\n`);
      return 0;
    }
    const stopped = await stopCluster(context);
    terminal.out(
      stopped ? 'Stopped. The data is kept; the next start brings the same VMs back.\n' : 'Not running.\n',
    );
    return 0;
  },
};
