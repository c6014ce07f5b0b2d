import { join } from 'node:path';

/**
 * Returns the path of a shell script of this folder, or beside the bundle if this code is bundled
 * (scripts/build.ts).
 */
export const scriptPath = (name: string): string => join(import.meta.dirname, name);
