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
 * A table is read in pieces: a connection that others' coming and going hid in one reading is in the next.
 */
const maxReads = 3;
const tables = ['/proc/net/tcp', '/proc/net/tcp6'];

/** Whose the other end of a connection is: the user of its process, and the inode of its socket. */
export interface ClientSocket {
  readonly uid: number;
  readonly inode: string;
}

/** By both ends as a table has them, local first. */
type Owners = ReadonlyMap<string, ClientSocket | undefined>;

/** The other end of a connection from this machine; undefined if no process has that socket any more. */
export type ClientOwner = (connection: Connection) => Promise<ClientSocket | undefined>;

/**
 * One reading of the tables at a time, which all share that asked before it began: another user may connect
 * ten thousand times at once, and each connection makes the tables longer.
 */
export function findClientOwners(
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
 * The same by the text of such a table (proc(5)). A socket that no process has open any more has inode 0 and
 * shows as root's, whoever closed it: it has no owner here.
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

/** An IPv4 address is in the table of IPv6 where the client's socket is one of IPv6. */
export function addressForms({ address, port }: SocketEnd): string[] {
  const ipv4 = address.replace(/^::ffff:/iu, '');
  if (isIPv6(ipv4)) return [];
  const word = hexGroups(Buffer.from(ipv4.split('.').map(Number)));
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return [`${word}:${hex}`, `${'0'.repeat(16)}${hexGroups(Buffer.from([0, 0, 0xff, 0xff]))}${word}:${hex}`];
}

/** Four bytes in network order as the kernel prints them: a number of this machine. */
const hexGroups = (bytes: Buffer): string =>
  (endianness() === 'LE' ? bytes.readUInt32LE() : bytes.readUInt32BE())
    .toString(16)
    .toUpperCase()
    .padStart(8, '0');
