import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';

function processesIn(namespace: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => mountNamespaceOf(Number(name)) === namespace)
    .map(Number);
}

/**
 * `undefined`: the process is gone, a zombie without namespaces, or outside of the cluster's user namespace, as its
 * first process is (daemon/init.sh): no container runs there.
 */
export function mountNamespaceOf(pid: number): string | undefined {
  return ignoreMissingProcess(() => readlinkSync(`/proc/${pid}/ns/mnt`));
}

/** A mount namespace that is kept from ending: the kernel gives the name of an ended one to the next that is made. */
export interface NamespaceHandle {
  readonly name: string;
  readonly release: () => void;
}

/** The mount namespace of a process, held until `release`; undefined as for `mountNamespaceOf`. */
export function openMountNamespace(pid: number): NamespaceHandle | undefined {
  const descriptor = ignoreMissingProcess(() => openSync(`/proc/${pid}/ns/mnt`, 'r'));
  if (descriptor === undefined) return undefined;
  return {
    name: readlinkSync(`/proc/self/fd/${descriptor}`),
    release: () => closeSync(descriptor),
  };
}

function ignoreMissingProcess<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') {
      return undefined;
    }
    throw error;
  }
}

/**
 * SIGKILL to every process of a mount namespace, again and again until a look finds none: a container without a
 * pid namespace of its own has no first process whose death ends the others. The namespace has to be held meanwhile:
 * else its name may be that of a container which is just started.
 */
export async function killNamespace(namespace: string, pause: () => Promise<void>): Promise<void> {
  for (;;) {
    const pids = processesIn(namespace);
    if (pids.length === 0) {
      return;
    }
    for (const pid of pids) {
      sendSignal(pid, 'SIGKILL');
    }
    await pause();
  }
}

/** Signals a process; one that is gone meanwhile is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
      throw error;
    }
  }
}
