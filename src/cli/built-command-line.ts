import { join } from 'node:path';

/** The main module of `bosh-kubernetes` as scripts/build.ts leaves it in this checkout. */
export const mainModulePath = (root: string): string => join(root, 'dist', 'cli', 'main.mjs');
