import { join } from 'node:path';

/**
 * Returns the path of the main module of `bosh-kubernetes`, which scripts/build.ts writes in this checkout.
 */
export const mainModulePath = (root: string): string => join(root, 'dist', 'cli', 'main.mjs');
