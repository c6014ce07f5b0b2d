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
