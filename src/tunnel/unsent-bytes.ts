import { readFile } from 'node:fs/promises';
import { addressForms, type Connection } from './client-owner.ts';

/**
 * Returns how many bytes of a connection, of which this process is the server, have not reached the client's
 * system yet, from /proc/net/tcp (proc(5)); undefined if that is unknown.
 */
export async function unsentBytes({ client, server }: Connection): Promise<number | undefined> {
  const locals = new Set(addressForms(server));
  const remotes = new Set(addressForms(client));
  for (const path of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(path, 'utf8')).split('\n')) {
      const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/u);
      if (locals.has(local) && remotes.has(remote)) return Number.parseInt(queues, 16);
    }
  }
  return undefined;
}
