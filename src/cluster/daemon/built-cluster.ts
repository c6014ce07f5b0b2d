import { dirname, join } from 'node:path';

/** The cluster's main module as scripts/build.ts leaves it in this checkout; its scripts lie beside it. */
export const builtCluster = (root: string): string => join(root, 'dist', 'cluster', 'main.mjs');

/** src/cluster/prepare/main.ts, built, of the cluster with that main module. */
export const besideCluster = (main: string): string => join(dirname(main), 'prepare.mjs');
