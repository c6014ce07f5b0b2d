import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What the README's first screen shows of the first `npm start`, and of the URL's answer. */
export async function readmeScreens(root: string): Promise<{ start: string; answer: string }> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  const start = /^```\n(Started validating\n.*?)^```$/ms.exec(text)?.[1];
  const answer = /^ {4}\$ curl http.*\n((?: {4}.*\n)+)/m.exec(text)?.[1];
  assert.ok(start !== undefined && answer !== undefined, 'README.md shows no output of npm start and curl');
  return { start, answer: answer.replaceAll(/^ {4}/gm, '') };
}

/** Without npm's own lines and the names of manifest and state file, which the README leaves out, too. */
export function deployOutput(stdout: string): string {
  return stdout.slice(stdout.search(/^Started validating$/m));
}

/** What differs from run to run is made equal: times, generated ids, fingerprints of packages. */
export function shapeOf(output: string): string {
  return output
    .trim()
    .replaceAll(/\(\d\d:\d\d:\d\d\)/g, '(TIME)')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'FINGERPRINT');
}
