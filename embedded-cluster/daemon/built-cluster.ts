import { dirname, join } from 'node:path';

/**
 * The cluster's main module as scripts/build.ts writes it in this checkout. Its scripts are in the same
 * directory.
 */
export const builtCluster = (root: string): string => join(root, 'dist', 'cluster', 'main.mjs');

/** The built embedded-cluster/prepare/main.ts that belongs to this main module of the cluster. */
export const besideCluster = (main: string): string => join(dirname(main), 'prepare.mjs');
