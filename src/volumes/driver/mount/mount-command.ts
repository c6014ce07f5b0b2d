import { isIPv6 } from 'node:net';
import { MountError } from './mount-error.ts';

/** The arguments of mount(8), and the password, which must not be an argument. */
interface MountCommand {
  readonly args: readonly string[];
  /** The password, which mount.cifs reads from the descriptor in PASSWD_FD. */
  readonly password?: string;
}

/** The user that owns the files of a share in the container (vcap in Cloud Foundry apps). */
export const containerUid = 2000;

/**
 * Returns the command that mounts `spec` at `target`. Throws INVALID_OPTION if a value would be parsed as
 * another option.
 */
export function mountCommand(spec: MountSpec, target: string): MountCommand {
  const options = spec.kind === 'nfs' ? nfsOptions(spec) : smbOptions(spec);
  const source = spec.kind === 'nfs' ? nfsSource(spec) : spec.share;
  for (const option of options) assertSafeValue(/[\p{Cc},]/u, option, 'has a comma or a control character');
  assertSafeValue(/^-|[\p{Cc},]/u, source, 'begins with a dash, or has a comma or a control character');
  if (spec.kind === 'smb')
    assertSafeValue(/[\n\r\0]/u, spec.password, 'has a line break or a NUL', 'the password');
  const type = spec.kind === 'nfs' ? 'nfs' : 'cifs';
  return {
    args: ['-t', type, '-o', options.join(','), '--', source, target],
    ...(spec.kind === 'smb' && { password: spec.password }),
  };
}

/** Names and passwords are in UTF-8. A kernel with another default character set would garble them. */
export const utf8 = 'iocharset=utf8';

const common = ['nosuid', 'nodev'];

/**
 * Returns the options for NFS.
 * `retry=0`: otherwise mount.nfs retries for two minutes if a server refuses, and its reason is lost.
 * `nosharecache`: otherwise mounts of one file system share the names of the first mount.
 */
function nfsOptions(spec: NfsMountSpec): string[] {
  return [
    ...common,
    ...(spec.readOnly ? ['ro'] : []),
    ...['hard', 'timeo=600', 'retrans=2', 'rsize=1048576', 'wsize=1048576', 'retry=0', 'nosharecache'],
    ...(spec.attributeCaching ? [] : ['actimeo=0']),
    ...(spec.version === undefined ? [] : [`vers=${spec.version}`]),
  ];
}

function nfsSource({ host, path }: NfsMountSpec): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${path}`;
}

function smbOptions(spec: SmbMountSpec): string[] {
  const values = {
    username: spec.username,
    domain: spec.domain,
    vers: spec.version,
    file_mode: spec.fileMode,
    dir_mode: spec.dirMode,
    sec: spec.security,
    // otherwise root's tickets and the machine's keys are used
    cruid: spec.security?.startsWith('krb5') === true ? `${containerUid}` : undefined,
  };
  return [
    ...common,
    ...(spec.readOnly ? ['ro'] : []),
    ...[`uid=${containerUid}`, `gid=${containerUid}`, utf8],
    ...Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])),
    ...spec.flags,
  ];
}

function assertSafeValue(pattern: RegExp, value: string, problem: string, name = `'${value}'`): void {
  if (pattern.test(value))
    throw new MountError(
      'INVALID_OPTION',
      `The share was not mounted: ${name} ${problem}; correct the binding`,
    );
}

/** The mount that options specify: typed and checked values of the options that a broker returned. */
export type MountSpec = NfsMountSpec | SmbMountSpec;

/** The ids that own files on the server. In the container, uid 2000 reads and writes as this user. */
export interface IdMapping {
  readonly uid: number;
  readonly gid: number;
}

/** A share of an NFS server. */
export interface NfsMountSpec {
  readonly kind: 'nfs';
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  /** Absolute. */
  readonly path: string;
  /** `4` means the minor version that client and server negotiate. */
  readonly version?: '3' | '4' | '4.0' | '4.1' | '4.2';
  readonly readOnly: boolean;
  /** If true, the kernel caches attributes, instead of fetching them at each access. */
  readonly attributeCaching: boolean;
  /** Without ids, the container gets the kernel's mount, and ids are not mapped. */
  readonly ids?: IdMapping;
}

/** A share of an SMB server. */
export interface SmbMountSpec {
  readonly kind: 'smb';
  /** `//host/share` or `//host/share/path`. */
  readonly share: string;
  readonly username: string;
  readonly password: string;
  readonly domain?: string;
  readonly version?: '1.0' | '2.0' | '2.1' | '3' | '3.0' | '3.1.1';
  readonly readOnly: boolean;
  readonly flags: readonly SmbFlag[];
  /** Octal, as in `0777`. */
  readonly fileMode?: string;
  readonly dirMode?: string;
  readonly security?: string;
}

/** The options of mount.cifs that have no value. */
export type SmbFlag =
  | 'mfsymlinks'
  | 'noserverino'
  | 'nodfs'
  | 'nobrl'
  | 'forceuid'
  | 'noforceuid'
  | 'forcegid'
  | 'noforcegid';
