import type { OptionRow, OptionTable } from '../options/option-table.ts';
import { mountRow } from '../options/option-table.ts';
import { smbDomain, smbPassword, smbUser, smbVersion } from '../../options/mount-values.ts';
import { flag } from '../../options/option-type.ts';
import { smbShare } from '../../options/share.ts';
import type { SecretPrefix } from '../options/password-rows.ts';
import { passwordRows } from '../options/password-rows.ts';
import type { Offering, OfferingSettings } from './offering.ts';

const anywhere = ['provision', 'bind'] as const;

function switchRow(name: string, description: string, excludes: readonly string[] = []): OptionRow {
  return { name, type: flag, places: anywhere, mountOption: name, excludes, description };
}

const tableOf = (secrets: SecretPrefix | undefined): OptionTable => [
  {
    name: 'share',
    type: smbShare,
    places: ['provision'],
    mountOption: 'source',
    neededAt: 'provision',
    description: '//host/share or //host/share/path',
  },
  {
    name: 'username',
    type: smbUser,
    places: anywhere,
    mountOption: 'username',
    neededAt: 'bind',
    description: 'user of the share',
  },
  ...passwordRows(secrets, { type: smbPassword, neededAt: 'bind' }),
  {
    name: 'domain',
    type: smbDomain,
    places: anywhere,
    mountOption: 'domain',
    description: 'domain of that user',
  },
  {
    name: 'version',
    type: smbVersion,
    places: anywhere,
    mountOption: 'version',
    description: 'version of the SMB protocol; without it, server and client agree on one',
  },
  {
    name: 'readonly',
    alias: 'ro',
    type: flag,
    places: anywhere,
    mountOption: 'ro',
    description: 'the app cannot write',
  },
  mountRow,
  switchRow('mfsymlinks', 'symbolic links, kept in files that SMB clients understand'),
  switchRow('noserverino', 'the client makes inode numbers itself'),
  switchRow('nodfs', 'no distributed file system'),
  switchRow(
    'nobrl',
    'locks of files hold in this mount alone, as SQLite needs them; no two instances may share the file',
  ),
  switchRow('forceuid', 'all files are owned by the mounting user', ['noforceuid']),
  switchRow('noforceuid', 'files are owned as the server says'),
  switchRow('forcegid', "all files are of the mounting user's group", ['noforcegid']),
  switchRow('noforcegid', 'files are of the group that the server says'),
];

/** The offering of smbbroker. `secrets` says where passwords may be named. */
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
    table: tableOf(secrets),
    ...settings,
  };
}
