/** What to mount: typed values of the options that a broker answered, checked at the driver's border. */
export type MountSpec = NfsMountSpec | SmbMountSpec;

/** Ids that own files on the server. Inside the container one uid, 2000, reads and writes as them. */
export interface IdMapping {
  readonly uid: number;
  readonly gid: number;
}

/** A share of NFS. */
export interface NfsMountSpec {
  readonly kind: 'nfs';
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  /** Absolute. */
  readonly path: string;
  /** `4`: the minor version that client and server agree on. */
  readonly version?: '3' | '4' | '4.0' | '4.1' | '4.2';
  readonly readOnly: boolean;
  /** Attributes are cached by the kernel, and no longer asked for at each access. */
  readonly attributeCaching: boolean;
  /** Without them the kernel's own mount is handed out. */
  readonly ids?: IdMapping;
}

/** A share of SMB. */
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

/** Options of mount.cifs without a value. */
export type SmbFlag =
  | 'mfsymlinks'
  | 'noserverino'
  | 'nodfs'
  | 'nobrl'
  | 'forceuid'
  | 'noforceuid'
  | 'forcegid'
  | 'noforcegid';
