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

/** A table is read in pieces: a connection that others' coming and going hid in one reading is in the next. */
const readings = 3;

/** The user of the process at the other end of a connection from this machine; undefined where none has that socket any more. */
export async function clientOwner(connection: Connection): Promise<number | undefined> {
  for (let reading = 0; reading < readings; reading += 1) {
    for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
      const owner = ownerInTable(await readFile(table, 'utf8'), connection);
      if (owner !== undefined) return owner;
    }
  }
  return undefined;
}

/**
 * The same by the text of such a table (proc(5)). A socket that no process has open any more has inode 0 and shows as root's,
 * whoever closed it: it has no owner here.
 */
export function ownerInTable(table: string, { client, server }: Connection): number | undefined {
  for (const line of table.split('\n')) {
    const [, local, remote, , , , , uid = '', , inode] = line.trim().split(/\s+/u);
    if (local === undefined || remote === undefined || !isEnd(local, client) || !isEnd(remote, server))
      continue;
    return inode === '0' ? undefined : Number(uid);
  }
  return undefined;
}

function isEnd(text: string, { address, port }: SocketEnd): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return spellings(address).some((each) => text === `${each}:${hex}`);
}

/** An IPv4 address is in the table of IPv6 where the client's socket is one of IPv6. */
function spellings(address: string): string[] {
  const ipv4 = address.replace(/^::ffff:/iu, '');
  if (isIPv6(ipv4)) return [];
  const word = words(Buffer.from(ipv4.split('.').map(Number)));
  return [word, `${'0'.repeat(16)}${words(Buffer.from([0, 0, 0xff, 0xff]))}${word}`];
}

/** Four bytes in network order as the kernel prints them: a number of this machine. */
const words = (bytes: Buffer): string =>
  (endianness() === 'LE' ? bytes.readUInt32LE() : bytes.readUInt32BE())
    .toString(16)
    .toUpperCase()
    .padStart(8, '0');
