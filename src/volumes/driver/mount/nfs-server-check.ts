import { isIPv6, SocketAddress } from 'node:net';
import type { MountEntry } from '../../../platform/mountinfo.ts';
import { MountError } from './mount-error.ts';

/** A requested mount of a directory of a server. */
interface RequestedMount {
  /** The share as an error names it: `host:/path`. */
  readonly share: string;
  /** The address that mount.nfs got instead of the host name. */
  readonly address: string;
  /** Normalised. */
  readonly path: string;
  /** All addresses of this server. */
  readonly serverAddresses: readonly string[];
}

/**
 * Throws if the kernel mounted something other than the requested directory. The kernel joins sessions of NFS
 * 4.1 and 4.2 with servers of one owner, whatever their addresses are, and a server may claim to be another
 * one. The kernel also follows a server's referrals to other servers.
 */
export function checkNfsMount(requested: RequestedMount, entry: MountEntry | undefined): void {
  const { share, address, path, serverAddresses } = requested;
  const option = entry?.fileSystemOptions.find((each) => each.startsWith('addr='));
  const used = option?.slice('addr='.length) ?? '';
  const [, bracketed, plain = '', mountedPath] =
    /^(?:\[([^\]]*)\]|([^:]*)):(.*)$/su.exec(entry?.source ?? '') ?? [];
  const isServer = serverAddresses.some((each) => isSameAddress(each, used));
  if (!isServer || !isSameAddress(bracketed ?? plain, address))
    throw new MountError(
      'OTHER_SERVER',
      `${share}: The server has the address ${address}, and the kernel mounted from ${used === '' ? 'an unknown one' : used} ('${entry?.source}'): a server refers to another one, or two addresses belong to one server of NFS 4.1 or 4.2, or one of the servers passes requests on to the other one. If both are one server, the operator names them in -nfsServerAddresses; otherwise choose version 4.0`,
    );
  if (mountedPath !== path)
    throw new MountError(
      'LINK_IN_SHARE',
      `${share}: The server redirected the mount from '${path}' to '${entry?.source}'; name that folder in the share`,
    );
}

/** Returns a path without empty parts and `.` parts, as the kernel shows it. */
export const normalisedPath = (path: string): string =>
  `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;

/** Compares two addresses, which may have different spellings. */
export function isSameAddress(one: string, other: string): boolean {
  return canonical(one) === canonical(other);
}

function canonical(address: string): string {
  const [, plain = '', zone = ''] = /^([^%]*)(%.*)?$/su.exec(address) ?? [];
  if (!isIPv6(plain)) return address;
  const { address: text } = new SocketAddress({ address: plain, family: 'ipv6' });
  return `${text.replace(/^::ffff:(?=\d+\.)/u, '')}${zone}`;
}
