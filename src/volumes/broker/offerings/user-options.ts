import {
  directoryPassword,
  directoryUser,
  flag,
  nfsVersion,
  type OptionType,
  smbDomain,
  smbPassword,
  smbUser,
  smbVersion,
  userId,
} from '../../options/option-types.ts';
import { containerDir, nfsShare, smbShare } from '../../options/share.ts';
import {
  isSecretPath,
  parseSecretReference,
  type SecretReference,
} from '../../signature/secret-reference.ts';
import type { OptionDefinition, OptionTable } from './option-table.ts';

// All options that users may give. An option is one entry of `nfsOptions` or `smbOptions`: to make the broker
// reject an option or accept a new one, remove or add its entry. To change its values, change its type.

const bothScopes = ['provision', 'bind'] as const;

/** The option for the path of the share in the app's container. Every offering has it. */
const mountPathOption: OptionDefinition = {
  name: 'mount',
  type: containerDir,
  scopes: ['provision', 'bind'],
  mountConfigKey: 'mount',
  description: "folder in the app's container; /var/vcap/data/INSTANCE without it",
};

const commonNfsOptions: OptionTable = [
  {
    name: 'share',
    type: nfsShare,
    scopes: ['provision'],
    mountConfigKey: 'source',
    prefix: 'nfs://',
    requiredAt: 'provision',
    description: 'host:/path of the export',
  },
  {
    name: 'version',
    type: nfsVersion,
    scopes: bothScopes,
    mountConfigKey: 'version',
    description: 'version of the NFS protocol; without it, server and client agree on one',
  },
  {
    name: 'readonly',
    type: flag,
    scopes: bothScopes,
    mountConfigKey: 'readonly',
    description: 'the app cannot write',
  },
  mountPathOption,
  {
    name: 'auto_cache',
    type: flag,
    scopes: bothScopes,
    mountConfigKey: 'auto_cache',
    description: 'without effect in the present drivers, which accept it',
  },
  {
    name: 'cache',
    type: flag,
    scopes: bothScopes,
    mountConfigKey: 'cache',
    description: 'the client caches attributes of files',
  },
];

const idOptions: OptionTable = [
  {
    name: 'uid',
    type: userId,
    scopes: bothScopes,
    mountConfigKey: 'uid',
    requires: 'gid',
    description: 'user on the server by whose rights the app reads and writes',
  },
  {
    name: 'gid',
    type: userId,
    scopes: bothScopes,
    mountConfigKey: 'gid',
    requires: 'uid',
    description: 'group on the server by whose rights the app reads and writes',
  },
];

const ldapOptions = (secrets: SecretPrefix | undefined): OptionTable => [
  {
    name: 'username',
    type: directoryUser,
    scopes: bothScopes,
    mountConfigKey: 'username',
    requires: 'password',
    description: 'user of the directory by whose uid and gid the app reads and writes',
  },
  ...passwordOptions(secrets, { type: directoryPassword, requires: 'username' }),
];

/** Returns the options of NFS shares. With `ldap`, users give a name and password instead of uid and gid. */
export const nfsOptions = (ldap: boolean, secrets: SecretPrefix | undefined): OptionTable => [
  ...commonNfsOptions,
  ...(ldap ? ldapOptions(secrets) : idOptions),
];

function booleanOption(
  name: string,
  description: string,
  excludes: readonly string[] = [],
): OptionDefinition {
  return { name, type: flag, scopes: bothScopes, mountConfigKey: name, excludes, description };
}

/** Returns the options of SMB shares. */
export const smbOptions = (secrets: SecretPrefix | undefined): OptionTable => [
  {
    name: 'share',
    type: smbShare,
    scopes: ['provision'],
    mountConfigKey: 'source',
    requiredAt: 'provision',
    description: '//host/share or //host/share/path',
  },
  {
    name: 'username',
    type: smbUser,
    scopes: bothScopes,
    mountConfigKey: 'username',
    requiredAt: 'bind',
    description: 'user of the share',
  },
  ...passwordOptions(secrets, { type: smbPassword, requiredAt: 'bind' }),
  {
    name: 'domain',
    type: smbDomain,
    scopes: bothScopes,
    mountConfigKey: 'domain',
    description: 'domain of that user',
  },
  {
    name: 'version',
    type: smbVersion,
    scopes: bothScopes,
    mountConfigKey: 'version',
    description: 'version of the SMB protocol; without it, server and client agree on one',
  },
  {
    name: 'readonly',
    alias: 'ro',
    type: flag,
    scopes: bothScopes,
    mountConfigKey: 'ro',
    description: 'the app cannot write',
  },
  mountPathOption,
  booleanOption('mfsymlinks', 'symbolic links, kept in files that SMB clients understand'),
  booleanOption('noserverino', 'the client makes inode numbers itself'),
  booleanOption('nodfs', 'no distributed file system'),
  booleanOption(
    'nobrl',
    'locks of files hold in this mount alone, as SQLite needs them; no two instances may share the file',
  ),
  booleanOption('forceuid', 'all files are owned by the mounting user', ['noforceuid']),
  booleanOption('noforceuid', 'files are owned as the server says'),
  booleanOption('forcegid', "all files are of the mounting user's group", ['noforcegid']),
  booleanOption('noforcegid', 'files are of the group that the server says'),
];

/**
 * The store of the secrets that users may name instead of a password. `name` is the prefix of all their
 * names.
 */
export type SecretPrefix = SecretReference;

/** The settings that differ between offerings. */
type PasswordOptionSettings = Pick<OptionDefinition, 'type' | 'requires' | 'requiredAt'>;

/**
 * Returns the options for a password: `password`, and if the operator has a store for secrets,
 * `password_ref`.
 */
function passwordOptions(
  secrets: SecretPrefix | undefined,
  { type, ...requirements }: PasswordOptionSettings,
): readonly OptionDefinition[] {
  const common = { scopes: ['provision', 'bind'], mountConfigKey: 'password', ...requirements } as const;
  const password: OptionDefinition = {
    ...common,
    name: 'password',
    type: rejectReferences(type),
    isSecret: true,
    description: 'password of that user',
  };
  if (secrets === undefined) return [password];
  const reference: OptionDefinition = {
    ...common,
    name: 'password_ref',
    type: secretPath,
    prefix: `((${secrets.store}:${secrets.name}/`,
    suffix: '))',
    isSpaceScoped: true,
    description:
      'in place of password: the name of a secret of the space, which the cell reads at each mount',
  };
  return [password, reference];
}

function rejectReferences(type: OptionType): OptionType {
  return {
    ...type,
    parse: (value) =>
      typeof value === 'string' && parseSecretReference(value) !== undefined
        ? { problem: 'must not have the form of a reference to a secret, ((store:/name)); see password_ref' }
        : type.parse(value),
  };
}

const maxPathLength = 200;
const secretPath: OptionType = {
  parse: (value) =>
    typeof value === 'string' && value.length <= maxPathLength && isSecretPath(value)
      ? { value }
      : {
          problem: `must be parts of letters, digits, dots, dashes and underscores between slashes, none with a dot first, of at most ${maxPathLength} characters`,
        },
  schema: { type: 'string', minLength: 1, maxLength: maxPathLength },
};
