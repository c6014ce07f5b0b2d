import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where this installation of bosh-kubernetes and what it keeps are found. All paths are absolute. */
export interface Installation {
  /** The package's own folder. */
  readonly root: string;
  /** The Node that everything of ours runs on. */
  readonly nodeBinary: string;
  /** Holds `node` and `agent.cjs` for the VMs of the embedded cluster. */
  readonly runtimeDirectory: string;
  /** The embedded cluster's objects, volumes and logs. */
  readonly clusterDirectory: string;
  /** Installed CPIs and caches of the deployer. */
  readonly workspace: string;
  /** Held by a command that changes the deployment or the cluster. */
  readonly lockPath: string;
}

/** `BOSH_KUBERNETES_HOME` moves what is kept out of the package's folder (docs/decisions/0006). */
export function locateInstallation(environment: Readonly<Record<string, string | undefined>>): Installation {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const configured = environment['BOSH_KUBERNETES_HOME'];
  const home = configured ? resolve(configured) : join(root, '.bosh-kubernetes');
  return {
    root,
    nodeBinary: process.execPath,
    runtimeDirectory: join(root, 'dist', 'runtime'),
    clusterDirectory: join(home, 'cluster'),
    workspace: join(home, 'workspace'),
    lockPath: join(home, 'lock'),
  };
}
