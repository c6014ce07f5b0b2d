import {
  describeOptionErrors,
  oneOf,
  type OptionErrors,
  printableName,
  directoryPassword,
  directoryUser,
  flag,
  nfsVersion,
  type OptionType,
  type OptionValue,
  smbDomain,
  smbPassword,
  smbUser,
  smbVersion,
  text,
  userId,
} from '../options/option-types.ts';
import { nfsShare, smbShare } from '../options/share.ts';
import type { MountSpec, NfsMountSpec, SmbFlag, SmbMountSpec } from './mount/mount-command.ts';

/** The credentials of a user whose ids are in a directory. */
export interface DirectoryLogin {
  readonly username: string;
  readonly password: string;
}

/** The mount that options specify. Passwords may still be references to secrets. */
interface ParsedMount {
  readonly spec: MountSpec;
  /** NFS only: the user whose ids the files on the server have. */
  readonly login?: DirectoryLogin;
}

type ParsedMountRequest = ParsedMount | { readonly problem: string };

/** The operator's settings for all SMB mounts. */
export interface OperatorFlags {
  readonly noserverino: boolean;
  readonly nodfs: boolean;
}

/**
 * The types of the options that a driver knows. `ignored` ones are for the broker, or have no effect today.
 */
type OptionTypes = Readonly<Record<string, OptionType | 'ignored'>>;

const nfsOptions: OptionTypes = {
  source: nfsShare,
  uid: userId,
  gid: userId,
  username: directoryUser,
  password: directoryPassword,
  readonly: flag,
  version: nfsVersion,
  cache: flag,
  auto_cache: 'ignored',
  experimental: 'ignored',
  mount: 'ignored',
};

const octal = text(/^0?[0-7]{3,4}$/u, 5, 'an octal mode such as 0755');
const smbFlagNames: readonly SmbFlag[] = [
  'mfsymlinks',
  'noserverino',
  'nodfs',
  'nobrl',
  'forceuid',
  'noforceuid',
  'forcegid',
  'noforcegid',
];

const smbOptions: OptionTypes = {
  source: smbShare,
  username: smbUser,
  password: smbPassword,
  domain: smbDomain,
  version: smbVersion,
  vers: smbVersion,
  ro: flag,
  readonly: flag,
  file_mode: octal,
  dir_mode: octal,
  sec: oneOf('none krb5 krb5i ntlm ntlmi ntlmv2 ntlmv2i ntlmssp ntlmsspi'.split(' ')),
  ...Object.fromEntries(smbFlagNames.map((name) => [name, flag])),
  mount: 'ignored',
};

/**
 * Parses the options of Create. Skips keys that begin with an underscore, which belong to the cell. Errors
 * have the texts of the old drivers.
 */
export function parseMountConfig(
  protocol: 'nfs' | 'smb',
  options: Readonly<Record<string, unknown>>,
  forced: OperatorFlags,
): ParsedMountRequest {
  return protocol === 'nfs' ? parseNfs(options) : parseSmb(options, forced);
}

function parseNfs(options: Readonly<Record<string, unknown>>): ParsedMountRequest {
  const source = options['source'];
  const share = typeof source === 'string' ? source.replace(/^nfs:\/\//u, '') : source;
  const read = new OptionReader({ ...options, source: share }, nfsOptions);
  const hasLogin = read.has('username') || read.has('password');
  read.require('source');
  if (hasLogin) {
    read.require('username', 'password');
    read.reject('gid', 'uid');
  } else {
    read.requireBoth('uid', 'gid');
  }
  const problem = read.problems();
  if (problem !== '') return { problem };
  const spec = nfsSpec(read);
  if (!hasLogin) return { spec };
  return { spec, login: { username: read.text('username'), password: read.text('password') } };
}

function nfsSpec(read: OptionReader): NfsMountSpec {
  const [, bracketed, plain = '', path = ''] =
    /^(?:\[([^\]]*)\]|([^/]*))(.*)$/su.exec(read.text('source')) ?? [];
  return {
    kind: 'nfs',
    host: bracketed ?? plain,
    path,
    ...optionalMember('version', nfsVersions[read.text('version')]),
    readOnly: read.isSet('readonly'),
    attributeCaching: read.isSet(read.has('cache') ? 'cache' : 'readonly'),
    ...(read.has('uid') ? { ids: { uid: Number(read.text('uid')), gid: Number(read.text('gid')) } } : {}),
  };
}

const nfsVersions: Readonly<Record<string, NonNullable<NfsMountSpec['version']>>> = {
  '3': '3',
  '3.0': '3',
  '4': '4',
  '4.0': '4.0',
  '4.1': '4.1',
  '4.2': '4.2',
};

const smbVersions: Readonly<Record<string, NonNullable<SmbMountSpec['version']>>> = {
  '1.0': '1.0',
  '2.0': '2.0',
  '2.1': '2.1',
  '3': '3',
  '3.0': '3.0',
  '3.1.1': '3.1.1',
};

function parseSmb(options: Readonly<Record<string, unknown>>, forced: OperatorFlags): ParsedMountRequest {
  // an empty domain means no domain
  const { domain, ...others } = options;
  const read = new OptionReader(domain === '' ? others : options, smbOptions);
  read.require('source');
  read.require('username', 'password');
  const [version, vers] = [read.optional('version'), read.optional('vers')];
  if (version !== undefined && vers !== undefined && version !== vers)
    read.problem('version and vers have different values');
  for (const id of ['forceuid', 'forcegid'] as const)
    if (read.isSet(id) && read.isSet(`no${id}`)) read.problem(`${id} cannot be used together with no${id}`);
  const problem = read.problems();
  if (problem !== '') return { problem };
  const isForced = (name: SmbFlag): boolean =>
    (name === 'noserverino' && forced.noserverino) || (name === 'nodfs' && forced.nodfs);
  const spec: SmbMountSpec = {
    kind: 'smb',
    share: read.text('source'),
    username: read.text('username'),
    password: read.text('password'),
    ...optionalMember('domain', read.optional('domain')),
    ...optionalMember('version', smbVersions[version ?? vers ?? '']),
    readOnly: read.isSet('ro') || read.isSet('readonly'),
    flags: smbFlagNames.filter((name) => read.isSet(name) || isForced(name)),
    ...optionalMember('fileMode', read.optional('file_mode')),
    ...optionalMember('dirMode', read.optional('dir_mode')),
    ...optionalMember('security', read.optional('sec')),
  };
  return { spec };
}

/** Returns an object with the member, or an empty one if the value is undefined. */
function optionalMember<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  const member: Partial<Record<K, V>> = {};
  if (value !== undefined) member[key] = value;
  return member;
}

/** Parses options by the types that a driver knows, and collects the errors. */
class OptionReader {
  readonly #values = new Map<string, OptionValue>();
  readonly #names: ReadonlySet<string>;
  readonly #errors: OptionErrors = { invalid: [], notAllowed: [], missing: [] };

  constructor(options: Readonly<Record<string, unknown>>, types: OptionTypes) {
    const entries = Object.entries(options).filter(
      ([name, value]) => !name.startsWith('_') && value !== undefined,
    );
    this.#names = new Set(entries.map(([name]) => name));
    for (const [name, value] of entries) {
      const type = Object.hasOwn(types, name) ? types[name] : undefined;
      if (type === undefined) this.#errors.notAllowed.push(printableName(name));
      if (type === undefined || type === 'ignored') continue;
      const parsed = type.parse(value);
      if ('value' in parsed) this.#values.set(name, parsed.value);
      else if (type === userId) this.problem(`Invalid '${name}' option (0, negative, or non-integer)`);
      else this.problem(`${name} ${parsed.problem}`);
    }
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  isSet(name: string): boolean {
    return this.#values.get(name) === true;
  }

  optional(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : undefined;
  }

  text(name: string): string {
    return this.optional(name) ?? '';
  }

  problem(message: string): void {
    this.#errors.invalid.push(message);
  }

  require(...names: readonly string[]): void {
    this.#errors.missing.push(...names.filter((name) => !this.has(name)));
  }

  requireBoth(...names: readonly [string, string]): void {
    const missing = names.filter((name) => !this.has(name));
    if (missing.length === 1) this.problem(`required '${missing[0]}' option is missing`);
  }

  reject(...names: readonly string[]): void {
    this.#errors.notAllowed.push(...names.filter((name) => this.has(name)));
  }

  problems(): string {
    return describeOptionErrors(this.#errors);
  }
}
