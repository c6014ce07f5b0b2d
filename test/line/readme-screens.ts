import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface ReadmeScreens {
  /** What the first `npm start` says on stderr. */
  readonly messages: string;
  /** What it prints. */
  readonly start: string;
  /** Of the URL. */
  readonly answer: string;
}

/** What the README's first screen shows. */
export async function readmeScreens(root: string): Promise<ReadmeScreens> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  const [, messages, start] = /^```\n([^`]*?)^(Started validating\n.*?)^```$/ms.exec(text) ?? [];
  const answer = /^ {4}\$ curl http.*\n((?: {4}.*\n)+)/m.exec(text)?.[1];
  assert.ok(
    messages !== undefined && start !== undefined && answer !== undefined,
    'README.md shows no output of npm start and curl',
  );
  return { messages, start, answer: answer.replaceAll(/^ {4}/gm, '') };
}

/** Without what npm says of its installation and of itself, which the README leaves out, too. */
export function startMessages(stderr: string): string {
  return stderr.replaceAll(/^(added \d+ packages in .*|npm (notice|warn).*)?\n/gm, '');
}

/** Without npm's own lines and the names of manifest and state file, which the README leaves out, too. */
export function deployOutput(stdout: string): string {
  return stdout.slice(stdout.search(/^Started validating$/m));
}

/** What differs from run to run is made equal: times, generated ids, fingerprints of packages, the folder. */
export function shapeOf(output: string): string {
  return output
    .trim()
    .replaceAll(/\(\d\d:\d\d:\d\d\)/g, '(TIME)')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'FINGERPRINT')
    .replaceAll(/\/\S+(?=\/\.bosh-kubernetes\/)/g, 'FOLDER');
}
