import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The paths of this installation of bosh-kubernetes and of its data. All paths are absolute. */
export interface Installation {
  /** The package's root directory. */
  readonly root: string;
  /** True for the npm package, which contains everything built; false for a checkout. */
  readonly isPackage: boolean;
  /** The Node binary that runs all our programs. */
  readonly nodeBinary: string;
  /** Contains `agent.cjs` for the VMs of the embedded cluster. */
  readonly runtimeDirectory: string;
  /** The embedded cluster's objects, volumes and logs. */
  readonly clusterDirectory: string;
  /** The programs that the embedded cluster runs, which are copies (place-programs.ts). */
  readonly programsDirectory: string;
  /** The deployer's installed CPIs and caches. */
  readonly workspace: string;
  /** The lock of commands that change the deployment or the cluster. */
  readonly lockPath: string;
}

/** Returns where this program is, whatever the working directory and the environment are. */
export function locateProgram(): Pick<Installation, 'root' | 'isPackage'> {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  return { root, isPackage: basename(dirname(root)) === 'node_modules' };
}

/**
 * Returns the installation's paths. The data of a checkout is in the checkout, and that of the npm package in
 * the working directory, because npm removes everything below node_modules. `BOSH_KUBERNETES_HOME` names
 * another place (docs/decisions/0006).
 */
export function locateInstallation(environment: Readonly<Record<string, string | undefined>>): Installation {
  const { root, isPackage } = locateProgram();
  const configured = environment['BOSH_KUBERNETES_HOME'];
  const home = configured ? resolve(configured) : join(isPackage ? process.cwd() : root, '.bosh-kubernetes');
  return {
    root,
    isPackage,
    nodeBinary: process.execPath,
    runtimeDirectory: join(root, 'dist', 'runtime'),
    clusterDirectory: join(home, 'cluster'),
    programsDirectory: join(home, 'programs'),
    workspace: join(home, 'workspace'),
    lockPath: join(home, 'lock'),
  };
}

/** Returns the path of the main module of `bosh-kubernetes`, which scripts/build.ts writes. */
export const mainModulePath = (root: string): string => join(root, 'dist', 'cli', 'main.mjs');
