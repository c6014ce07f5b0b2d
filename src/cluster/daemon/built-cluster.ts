import { join } from 'node:path';

/** The cluster's main module as scripts/build.ts leaves it in this checkout; its scripts lie beside it. */
export const builtCluster = (root: string): string => join(root, 'dist', 'cluster', 'main.mjs');
