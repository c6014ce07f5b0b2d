/**
 * The text of a file; throws as node:fs does. Loaded on use: most calls of the CPI's executable read no file here, and
 * node:fs costs it a millisecond (`npm run bench:cpi`).
 */
export function readTextFile(path: string): string {
  return process.getBuiltinModule('node:fs').readFileSync(path, 'utf8');
}
