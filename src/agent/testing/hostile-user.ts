import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { parseIdentities, loadIdentities } from '../user/identities.ts';
import type { Identities } from '../user/identities.ts';

const id = 54_321;

/** The job user of a VM, vcap, with an id that no user of this machine has. */
export const hostileUser = { uid: id, gid: id } as const;

/** The reason to skip if the attacks cannot run here. */
export const hostileUserIsMissing =
  process.geteuid?.() === 0 && (await loadIdentities()).canActAsUser(id)
    ? false
    : 'needs root with other user ids: it plays root and a job user of one VM';

/** The users of a VM that has vcap. */
export const identitiesWithVcap: Identities = parseIdentities({
  passwd: `root:x:0:0::/root:/bin/sh\nvcap:x:${id}:${id}::/home/vcap:/bin/sh\n`,
  group: `root:x:0:\nvcap:x:${id}:\n`,
  userMap: '0 0 4294967295',
  groupMap: '0 0 4294967295',
  user: 0,
  userGroup: 0,
});

/**
 * Runs a shell script as the job user. Returns its exit code and output. `descriptor` becomes its file
 * descriptor 3, as one that a job inherits from root.
 */
export async function asHostileUser(
  script: string,
  variables: Readonly<Record<string, string>> = {},
  descriptor?: number,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn('/bin/sh', ['-c', script], {
    ...hostileUser,
    cwd: '/',
    env: { PATH: process.env['PATH'], ...variables },
    stdio: ['ignore', 'pipe', 'pipe', descriptor ?? 'ignore'],
  });
  const [code, output, errors] = await Promise.all([
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    }),
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ]);
  return { code, output: output + errors };
}
