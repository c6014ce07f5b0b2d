import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface ReadmeScreens {
  /** The stderr of the first `up` of the npm package. */
  readonly messages: string;
  /** The stderr of the first `npm start` of a checkout, which installs, builds and has an example. */
  readonly startMessages: string;
  /** The stdout of both. */
  readonly output: string;
  /** The response of the URL. */
  readonly answer: string;
}

/** Reads the first screen of the README. */
export async function readmeScreens(root: string): Promise<ReadmeScreens> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  const [, messages, output] = /^```\n([^`]*?)^(Started validating\n.*?)^```$/ms.exec(text) ?? [];
  const answer = /^ {4}\$ curl http.*\n((?: {4}.*\n)+)/m.exec(text)?.[1];
  assert.ok(
    messages !== undefined && output !== undefined && answer !== undefined,
    'README.md shows no output of up and curl',
  );
  const startMessages = `Installing dependencies (npm ci)...\nBuilding...\n${messages.replace(/^Wrote .*\n/, '')}`;
  return { messages, startMessages, output, answer: answer.replaceAll(/^ {4}/gm, '') };
}

/** Removes npm's messages about the installation and about itself, which the README also omits. */
export function withoutNpm(stderr: string): string {
  return stderr.replaceAll(/^(added \d+ packages in .*|npm (notice|warn).*)?\n/gm, '');
}

/** Removes npm's lines and the names of manifest and state file, which the README also omits. */
export function deployOutput(stdout: string): string {
  return stdout.slice(stdout.search(/^Started validating$/m));
}

/** Replaces what differs between runs: times, generated ids, fingerprints of packages, the directory. */
export function shapeOf(output: string): string {
  return output
    .trim()
    .replaceAll(/\(\d\d:\d\d:\d\d\)/g, '(TIME)')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'FINGERPRINT')
    .replaceAll(/\/\S+(?=\/\.bosh-kubernetes\/)/g, 'FOLDER');
}
