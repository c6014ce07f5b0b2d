import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The paths of this installation of bosh-kubernetes and of its data. All paths are absolute. */
export interface Installation {
  /** The package's root directory. */
  readonly root: string;
  /** The Node binary that runs all our programs. */
  readonly nodeBinary: string;
  /** Contains `node` and `agent.cjs` for the VMs of the embedded cluster. */
  readonly runtimeDirectory: string;
  /** The embedded cluster's objects, volumes and logs. */
  readonly clusterDirectory: string;
  /** The deployer's installed CPIs and caches. */
  readonly workspace: string;
  /** The lock of commands that change the deployment or the cluster. */
  readonly lockPath: string;
}

/**
 * Returns the installation's paths. `BOSH_KUBERNETES_HOME` moves the data out of the package's directory
 * (docs/decisions/0006).
 */
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

/**
 * Returns the path of the main module of `bosh-kubernetes`, which scripts/build.ts writes in this checkout.
 */
export const mainModulePath = (root: string): string => join(root, 'dist', 'cli', 'main.mjs');
