import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtCluster } from '../../embedded-cluster/daemon/built-cluster.ts';
import { removeClusterDirectory } from '../../embedded-cluster/daemon/remove-cluster-directory.ts';
import { startDaemon } from '../../embedded-cluster/daemon/start-daemon.ts';
import { stopDaemon } from '../../embedded-cluster/daemon/stop-daemon.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { checkout } from '../support/embedded-line.ts';

export interface Cluster {
  readonly kubeconfig: string;
  /** Nothing of it is left when this resolves. */
  stop(): Promise<void>;
}

/**
 * An embedded cluster below that directory. Pods get to two simulated nodes, which report of every pod that it runs and
 * run none: the images of these tests cannot be had here, and what they test is the API and its controllers.
 * `keep`: where the cluster's log goes at the end.
 */
export async function startCluster(parent: string, keep: string | undefined): Promise<Cluster> {
  const directory = join(parent, 'cluster');
  await mkdir(directory, { mode: 0o700 });
  const { kubeconfig } = await startDaemon({
    directory,
    runtimeDirectory: join(checkout, 'dist', 'runtime'),
    nodeBinary: process.execPath,
    main: builtCluster(checkout),
    simulatedNodes: ['simulated-1=one', 'simulated-2=two'],
  });
  const api = await openApi(await loadAccess(await readFile(kubeconfig, 'utf8')));
  await api.patch({ resource: nodes, name: 'embedded' }, { spec: { unschedulable: true } });
  api.close();
  return {
    kubeconfig,
    stop: async () => {
      await stopDaemon(directory);
      if (keep !== undefined)
        await copyFile(join(directory, 'logs', 'cluster.log'), join(keep, 'cluster.log'));
      await removeClusterDirectory(directory);
    },
  };
}
