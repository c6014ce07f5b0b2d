import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';

function processesIn(namespace: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => mountNamespaceOf(Number(name)) === namespace)
    .map(Number);
}

/**
 * Returns the name of a process's mount namespace. `undefined`: the process has ended, is a zombie, which has
 * no namespaces, or is outside of the cluster's user namespace, as its first process is (daemon/init.sh): no
 * container runs there.
 */
export function mountNamespaceOf(pid: number): string | undefined {
  return ignoreMissingProcess(() => readlinkSync(`/proc/${pid}/ns/mnt`));
}

/**
 * A mount namespace that is kept alive, because the kernel may give the name of an ended namespace to the
 * next new one.
 */
export interface NamespaceHandle {
  readonly name: string;
  readonly release: () => void;
}

/**
 * Opens the mount namespace of a process and keeps it alive until `release`. `undefined` as for
 * `mountNamespaceOf`.
 */
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
 * Sends SIGKILL to every process of a mount namespace, repeatedly, until no process is left: a container
 * without its own pid namespace has no first process whose death ends the others. The caller must keep the
 * namespace open during the call; otherwise its name may belong to a container that has just started.
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

/** Signals a process. Ignores a process that has ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
      throw error;
    }
  }
}
