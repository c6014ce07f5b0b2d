import { mountPathOption, type OptionDefinition, type OptionTable } from './option-table.ts';
import { flag, smbDomain, smbPassword, smbUser, smbVersion } from '../../options/option-types.ts';
import { smbShare } from '../../options/share.ts';
import { passwordOptions, type SecretPrefix } from './password-options.ts';
import type { Offering, OfferingSettings } from './offering.ts';

const anywhere = ['provision', 'bind'] as const;

function booleanOption(
  name: string,
  description: string,
  excludes: readonly string[] = [],
): OptionDefinition {
  return { name, type: flag, scopes: anywhere, mountConfigKey: name, excludes, description };
}

const smbOptions = (secrets: SecretPrefix | undefined): OptionTable => [
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
    scopes: anywhere,
    mountConfigKey: 'username',
    requiredAt: 'bind',
    description: 'user of the share',
  },
  ...passwordOptions(secrets, { type: smbPassword, requiredAt: 'bind' }),
  {
    name: 'domain',
    type: smbDomain,
    scopes: anywhere,
    mountConfigKey: 'domain',
    description: 'domain of that user',
  },
  {
    name: 'version',
    type: smbVersion,
    scopes: anywhere,
    mountConfigKey: 'version',
    description: 'version of the SMB protocol; without it, server and client agree on one',
  },
  {
    name: 'readonly',
    alias: 'ro',
    type: flag,
    scopes: anywhere,
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
 * Returns the offering of smbbroker. `secrets` is the store and prefix of the secrets that users may name as
 * passwords.
 */
export function smbOffering({
  secrets,
  ...settings
}: OfferingSettings & { readonly secrets?: SecretPrefix | undefined }): Offering {
  return {
    id: '9db9cca4-8fd5-4b96-a4c7-0a48f47c3bad',
    name: 'smb',
    description: 'Existing SMB shares',
    tags: ['smb'],
    plan: {
      id: '0da18102-48dc-46d0-98b3-7a4ff6dc9c54',
      name: 'Existing',
      description: 'A preexisting filesystem',
    },
    protocol: 'smb',
    driver: 'smbdriver',
    table: smbOptions(secrets),
    ...settings,
  };
}
