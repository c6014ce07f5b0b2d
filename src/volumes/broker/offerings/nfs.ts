import { directoryPassword, directoryUser, flag, nfsVersion, userId } from '../../options/option-types.ts';
import { nfsShare } from '../../options/share.ts';
import { mountPathOption, type OptionTable } from './option-table.ts';
import { passwordOptions, type SecretPrefix } from './password-options.ts';
import type { Offering, OfferingSettings } from './offering.ts';

const bothScopes = ['provision', 'bind'] as const;

const commonOptions: OptionTable = [
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

/** The settings for the users of the file server. */
interface NfsUserMapping {
  /** If true, users give username and password instead of uid and gid. */
  readonly ldap: boolean;
  /** The store and prefix of the secrets that users may name as passwords. */
  readonly secrets?: SecretPrefix | undefined;
}

/** Returns the offering of nfsbroker. */
export function nfsOffering({ ldap, secrets, ...settings }: OfferingSettings & NfsUserMapping): Offering {
  return {
    id: '997f8f26-e10c-11e7-80c1-9a214cf093ae',
    name: 'nfs',
    description: 'Existing NFSv3 and v4 volumes',
    tags: ['nfs'],
    plan: {
      id: '09a09260-1df5-4445-9ed7-1ba56dadbbc8',
      name: 'Existing',
      description: 'A preexisting filesystem',
    },
    protocol: 'nfs',
    driver: 'nfsv3driver',
    table: [...commonOptions, ...(ldap ? ldapOptions(secrets) : idOptions)],
    ...settings,
  };
}
