import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { scriptPath } from './container-setup.ts';
import { toolEnvironment } from '../command.ts';
import type { PodNamespaces } from './container-runtime.ts';

/** The range of `count` ids from `first` on, which exist in the node's user namespace. */
export interface IdRange {
  readonly first: number;
  readonly count: number;
}

/** Reads the first and third column of a uid_map or gid_map (user_namespaces(7)). */
export function parseIdMap(text: string): IdRange[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [first, , count] = line.trim().split(/\s+/).map(Number);
      if (first === undefined || count === undefined || Number.isNaN(first + count)) {
        throw new Error(`not a line of an id map: ${line}`);
      }
      return { first, count };
    });
}

export const formatIdentityMap = (ranges: readonly IdRange[]): string =>
  ranges.map(({ first, count }) => `${first} ${first} ${count}\n`).join('');

/** Returns whether a container may run with this id here. */
export const isMapped = (ranges: readonly IdRange[], id: number): boolean =>
  ranges.some(({ first, count }) => id >= first && id < first + count);

/**
 * Creates a user namespace with the same ids as the node's, in which root has no rights over the machine, and
 * an IPC namespace that belongs to it. The user namespace forbids cgroup namespaces: with its own one, a pod
 * could mount the machine's cgroups, whose files belong to the same root.
 */
export async function createPodNamespaces(): Promise<PodNamespaces> {
  // The script is passed as text: until ids are mapped, the process may not read the files of a checkout that
  // only its owner may read.
  const script = await readFile(scriptPath('user-namespace.sh'), 'utf8');
  const namespaceProcess = spawn('unshare', ['--user', '--ipc', '--keep-caps', '/bin/sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: toolEnvironment,
  });
  const stderr: Buffer[] = [];
  namespaceProcess.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  const ended = new Promise<void>((resolve) => namespaceProcess.on('close', () => resolve()));
  namespaceProcess.on('error', (error) => stderr.push(Buffer.from(error.message)));
  const answers = namespaceProcess.stdout.iterator({ destroyOnReturn: false });
  try {
    await expectLine(answers);
    for (const map of ['uid_map', 'gid_map']) {
      const ranges = parseIdMap(await readFile(`/proc/self/${map}`, 'utf8'));
      await writeFile(`/proc/${namespaceProcess.pid}/${map}`, formatIdentityMap(ranges));
    }
    const [user, ipc] = ['user', 'ipc'].map((name) =>
      openSync(`/proc/${namespaceProcess.pid}/ns/${name}`, 'r'),
    );
    const namespaces = { user: user ?? -1, ipc: ipc ?? -1 };
    namespaceProcess.stdin.write('mapped\n');
    try {
      await expectLine(answers);
    } catch (error) {
      closeNamespaces(namespaces);
      throw error;
    }
    return namespaces;
  } catch (error) {
    namespaceProcess.kill('SIGKILL');
    await ended;
    throw new Error(`a user namespace cannot be made: ${Buffer.concat(stderr).toString().trim()}`, {
      cause: error,
    });
  } finally {
    namespaceProcess.stdin.end();
    await ended;
  }
}

/** Closes what createPodNamespaces opened. */
export function closeNamespaces({ user, ipc }: PodNamespaces): void {
  closeSync(user);
  closeSync(ipc);
}

async function expectLine(answers: AsyncIterator<unknown>): Promise<void> {
  if ((await answers.next()).done === true) {
    throw new Error('the process that makes it ended early');
  }
}
