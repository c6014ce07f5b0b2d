import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';

export interface SocketEnd {
  readonly address: string;
  readonly port: number;
}

/** Both ends of a connection to this machine, as its server sees them. */
export interface Connection {
  readonly client: SocketEnd;
  readonly server: SocketEnd;
}

/**
 * A table is read in pieces: other connections that open and close may hide a connection in one reading, and
 * the next reading shows it.
 */
const maxReads = 3;
const tables = ['/proc/net/tcp', '/proc/net/tcp6'];

/** The client's end of a connection: the user of its process, and the inode of its socket. */
export interface ClientSocket {
  readonly uid: number;
  readonly inode: string;
}

/** Client sockets by the two ends of a table row, the local end first. */
type Owners = ReadonlyMap<string, ClientSocket | undefined>;

/**
 * Returns the client's end of a connection from this machine; undefined if no process has that socket
 * anymore.
 */
export type ClientOwner = (connection: Connection) => Promise<ClientSocket | undefined>;

/**
 * Returns a function that finds client sockets. It reads the tables once at a time, and one reading serves
 * all callers that came before it began: another user may open ten thousand connections at once, and each
 * makes the tables longer.
 */
export function clientOwnerFinder(
  readTable: (path: string) => Promise<string> = (path) => readFile(path, 'utf8'),
): ClientOwner {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Owners> | undefined;
  const read = async (): Promise<Owners> => {
    await last.catch(() => undefined);
    next = undefined;
    const texts: string[] = [];
    for (const path of tables) texts.push(await readTable(path));
    return parseOwners(texts.join('\n'));
  };
  return async (connection) => {
    for (let reading = 0; reading < maxReads; reading += 1) {
      last = next ??= read();
      const owner = ownerOfSocket(await next, connection);
      if (owner !== undefined) return owner;
    }
    return undefined;
  };
}

/**
 * Finds the client socket in the text of such a table (proc(5)). For a socket that no process has open, the
 * table shows inode 0 and the user root, not the user who closed it: such a socket counts as without an
 * owner.
 */
export const ownerInTable = (table: string, connection: Connection): ClientSocket | undefined =>
  ownerOfSocket(parseOwners(table), connection);

function parseOwners(table: string): Owners {
  const owners = new Map<string, ClientSocket | undefined>();
  for (const line of table.split('\n')) {
    const [, local, remote, , , , , uid = '', , inode = '0'] = line.trim().split(/\s+/u);
    const ends = `${local} ${remote}`;
    if (!owners.has(ends)) owners.set(ends, inode === '0' ? undefined : { uid: Number(uid), inode });
  }
  return owners;
}

function ownerOfSocket(owners: Owners, { client, server }: Connection): ClientSocket | undefined {
  const remotes = addressForms(server);
  for (const local of addressForms(client))
    for (const remote of remotes) {
      const owner = owners.get(`${local} ${remote}`);
      if (owner !== undefined) return owner;
    }
  return undefined;
}

/**
 * Returns the forms of an address in the tables. An IPv4 address is in the table of IPv6 if the client's
 * socket is an IPv6 socket.
 */
export function addressForms({ address, port }: SocketEnd): string[] {
  const ipv4 = address.replace(/^::ffff:/iu, '');
  if (isIPv6(ipv4)) return [];
  const word = hexGroups(Buffer.from(ipv4.split('.').map(Number)));
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return [`${word}:${hex}`, `${'0'.repeat(16)}${hexGroups(Buffer.from([0, 0, 0xff, 0xff]))}${word}:${hex}`];
}

/** Formats four bytes in network order as the kernel prints them: a number in this machine's byte order. */
const hexGroups = (bytes: Buffer): string =>
  (endianness() === 'LE' ? bytes.readUInt32LE() : bytes.readUInt32BE())
    .toString(16)
    .toUpperCase()
    .padStart(8, '0');

/**
 * Returns how many bytes of a connection, of which this process is the server, have not reached the client's
 * system yet, from /proc/net/tcp (proc(5)); undefined if that is unknown.
 */
export async function readUnsentBytes({ client, server }: Connection): Promise<number | undefined> {
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
