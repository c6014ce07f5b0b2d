import { join } from 'node:path';

/** A shell script of this folder; of the bundle's, where this is bundled (scripts/build.ts). */
export const scriptPath = (name: string): string => join(import.meta.dirname, name);
