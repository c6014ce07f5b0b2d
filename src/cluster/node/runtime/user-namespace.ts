import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { scriptPath } from './script-path.ts';
import { helperEnvironment } from '../command.ts';

/** `count` ids from `first` on exist in the node's user namespace. */
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

/** Whether a container may run as that id here. */
export const hasId = (ranges: readonly IdRange[], id: number): boolean =>
  ranges.some(({ first, count }) => id >= first && id < first + count);

/**
 * Makes a user namespace with the same ids as the node's, in which root has no right over the machine, and resolves
 * with a descriptor of it. It forbids cgroup namespaces: with one of its own, a pod could mount the machine's
 * cgroups, whose files belong to the same root.
 */
export async function createUserNamespace(): Promise<number> {
  // as text: until ids are mapped it may read no file of a checkout that only its user may
  const script = await readFile(scriptPath('user-namespace.sh'), 'utf8');
  const holder = spawn('unshare', ['--user', '--keep-caps', '/bin/sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: helperEnvironment,
  });
  const stderr: Buffer[] = [];
  holder.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  const ended = new Promise<void>((resolve) => holder.on('close', () => resolve()));
  holder.on('error', (error) => stderr.push(Buffer.from(error.message)));
  const answers = holder.stdout.iterator({ destroyOnReturn: false });
  try {
    await expectLine(answers);
    for (const map of ['uid_map', 'gid_map']) {
      const ranges = parseIdMap(await readFile(`/proc/self/${map}`, 'utf8'));
      await writeFile(`/proc/${holder.pid}/${map}`, formatIdentityMap(ranges));
    }
    const descriptor = openSync(`/proc/${holder.pid}/ns/user`, 'r');
    holder.stdin.write('mapped\n');
    try {
      await expectLine(answers);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    return descriptor;
  } catch (error) {
    holder.kill('SIGKILL');
    await ended;
    throw new Error(`a user namespace cannot be made: ${Buffer.concat(stderr).toString().trim()}`, {
      cause: error,
    });
  } finally {
    holder.stdin.end();
    await ended;
  }
}

async function expectLine(answers: AsyncIterator<unknown>): Promise<void> {
  if ((await answers.next()).done === true) {
    throw new Error('the process that makes it ended early');
  }
}
