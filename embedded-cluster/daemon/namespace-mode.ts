import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rmdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { toolEnvironment } from '../node/command.ts';

/** The way in which the cluster gets its namespaces. */
export interface NamespaceMode {
  readonly name: 'root' | 'subordinate ids' | 'single id';
  /** unshare(1)'s options for a user namespace; none as root. */
  readonly userOptions: readonly string[];
}

const root: NamespaceMode = { name: 'root', userOptions: [] };
const single: NamespaceMode = { name: 'single id', userOptions: ['--user', '--map-root-user'] };
const subordinate: NamespaceMode = {
  name: 'subordinate ids',
  userOptions: ['--user', '--map-root-user', '--map-auto'],
};

/**
 * Returns the arguments of the unshare(1) that starts the cluster. Mounts of the machine propagate into the
 * cluster, but no mount of the cluster propagates to the machine.
 */
export function unshareArguments(mode: NamespaceMode): string[] {
  return [
    ...mode.userOptions,
    ...['--mount', '--propagation', 'slave', '--pid', '--fork', '--kill-child', '--'],
  ];
}

async function hasSubordinateIds(
  file: string,
  user: { readonly name: string; readonly uid: number },
): Promise<boolean> {
  try {
    const lines = (await readFile(file, 'utf8')).split('\n');
    return lines.some((line) => line.startsWith(`${user.name}:`) || line.startsWith(`${user.uid}:`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
}

function currentUser(uid: number): { name: string; uid: number } {
  try {
    return { name: userInfo().username, uid };
  } catch (error) {
    // This uid has no entry in the user database.
    if ((error as NodeJS.ErrnoException).code === 'ERR_SYSTEM_ERROR') {
      return { name: '', uid };
    }
    throw error;
  }
}

async function candidates(uid: number): Promise<NamespaceMode[]> {
  const user = currentUser(uid);
  const mapped =
    (await hasSubordinateIds('/etc/subuid', user)) && (await hasSubordinateIds('/etc/subgid', user));
  return [...(uid === 0 ? [root] : []), ...(mapped ? [subordinate] : []), single];
}

export interface Trial {
  readonly mode: NamespaceMode;
  /** The error messages of the programs; empty if all of them worked. */
  readonly complaint: string;
}

async function tryMode(mode: NamespaceMode, path: string): Promise<Trial> {
  const directory = await mkdtemp(join(path, '.probe-'));
  try {
    const probe = ['/bin/sh', join(import.meta.dirname, 'probe.sh'), directory];
    const result = spawnSync('unshare', [...unshareArguments(mode), ...probe], {
      encoding: 'utf8',
      env: toolEnvironment,
      timeout: 10_000,
    });
    const message = result.error === undefined ? result.stderr.trim() : result.error.message;
    return {
      mode,
      complaint: result.status === 0 ? '' : message || `unshare ended with ${result.status ?? result.signal}`,
    };
  } finally {
    await rmdir(directory);
  }
}

/**
 * Tries the modes that this user can have, the best first, until one works. If none works, the last trial has
 * the reason.
 */
export async function tryModes(uid: number, directory: string): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const mode of await candidates(uid)) {
    const trial = await tryMode(mode, directory);
    trials.push(trial);
    if (trial.complaint === '') {
      break;
    }
  }
  return trials;
}
