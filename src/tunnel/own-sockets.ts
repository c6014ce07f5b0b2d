import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as othersTurn } from 'node:timers/promises';

/** Whether a process of this process's pid namespace has that socket open, by the socket's inode. */
export type OwnSocket = (inode: string) => Promise<boolean>;

type Wanted = Map<string, PromiseWithResolvers<boolean>>;

/**
 * A process of a container with the machine's network, as every pod of the embedded cluster is, shows in
 * /proc/net/tcp with the same user as the operator's own: the pid namespace alone tells them apart. Of
 * another user's process, and of one in a user namespace that is not this user's, the kernel shows neither
 * namespace nor descriptors, so it counts as foreign. One search runs at a time, for all that asked before it
 * began.
 */
export function findOwnSockets(): OwnSocket {
  let last: Promise<void> = Promise.resolve();
  let next: Wanted | undefined;
  const ask = (inode: string): Promise<boolean> => {
    if (next === undefined) {
      const wanted: Wanted = new Map();
      next = wanted;
      last = last.then(() => {
        next = undefined;
        return search(wanted);
      });
    }
    const asked = next.get(inode) ?? Promise.withResolvers<boolean>();
    next.set(inode, asked);
    return asked.promise;
  };
  // a process that was made during the first search may have been given the socket by one that had been
  // looked at before
  return async (inode) => (await ask(inode)) || ask(inode);
}

/** Never rejects. */
async function search(wanted: Wanted): Promise<void> {
  try {
    const own = readlinkSync('/proc/self/ns/pid');
    for (const pid of newestFirst()) {
      if (wanted.size === 0) return;
      for (const inode of socketsOf(pid, own)) {
        wanted.get(inode)?.resolve(true);
        wanted.delete(inode);
      }
      await othersTurn();
    }
    for (const { resolve } of wanted.values()) resolve(false);
  } catch (error) {
    for (const { reject } of wanted.values()) reject(error);
  }
}

/** The process that has just connected was most often started just now. */
const newestFirst = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .toSorted((one, other) => other - one);

/** None where the process is gone, or this user may not look at it. */
function socketsOf(pid: number, namespace: string): string[] {
  if (lookAt(() => readlinkSync(`/proc/${pid}/ns/pid`)) !== namespace) return [];
  const descriptors = lookAt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return descriptors.flatMap((descriptor) => {
    const target = lookAt(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? '';
    const [, inode] = /^socket:\[(\d+)\]$/u.exec(target) ?? [];
    return inode === undefined ? [] : [inode];
  });
}

function lookAt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return undefined;
    throw error;
  }
}
