import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** Returns whether a process of this process's pid namespace has the socket with that inode open. */
export type OwnSocket = (inode: string) => Promise<boolean>;

type PendingSearch = Map<string, PromiseWithResolvers<boolean>>;

/**
 * Returns a function that recognizes sockets of this pid namespace. A process of a container with the
 * machine's network, as in every pod of the embedded cluster, shows in /proc/net/tcp with the same user as
 * the operator's own processes: only the pid namespace distinguishes them. For processes of another user, or
 * of a user namespace that this user does not own, the kernel shows neither namespace nor descriptors, so
 * they count as foreign. One search runs at a time, for all callers that came before it began.
 */
export function ownSocketFinder(): OwnSocket {
  let last: Promise<void> = Promise.resolve();
  let next: PendingSearch | undefined;
  const find = (inode: string): Promise<boolean> => {
    if (next === undefined) {
      const pending: PendingSearch = new Map();
      next = pending;
      last = last.then(() => {
        next = undefined;
        return search(pending);
      });
    }
    const request = next.get(inode) ?? Promise.withResolvers<boolean>();
    next.set(inode, request);
    return request.promise;
  };
  // a new process may have received the socket during the first search from a process that the search had
  // already passed
  return async (inode) => (await find(inode)) || find(inode);
}

/** Searches all processes for the sockets. Never rejects. */
async function search(pending: PendingSearch): Promise<void> {
  try {
    const own = readlinkSync('/proc/self/ns/pid');
    for (const pid of newestFirst()) {
      if (pending.size === 0) return;
      for (const inode of socketsOf(pid, own)) {
        pending.get(inode)?.resolve(true);
        pending.delete(inode);
      }
      await yieldToOthers();
    }
    for (const { resolve } of pending.values()) resolve(false);
  } catch (error) {
    for (const { reject } of pending.values()) reject(error);
  }
}

/** Returns the newest process first: the client was most likely started a moment ago. */
const newestFirst = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .toSorted((a, b) => b - a);

/**
 * Returns the inodes of a process's sockets; empty if the process has ended or this user may not inspect it.
 */
function socketsOf(pid: number, namespace: string): string[] {
  if (ifReadable(() => readlinkSync(`/proc/${pid}/ns/pid`)) !== namespace) return [];
  const descriptors = ifReadable(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return descriptors.flatMap((descriptor) => {
    const target = ifReadable(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? '';
    const [, inode] = /^socket:\[(\d+)\]$/u.exec(target) ?? [];
    return inode === undefined ? [] : [inode];
  });
}

function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return undefined;
    throw error;
  }
}
