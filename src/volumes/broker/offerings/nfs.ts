import { directoryPassword, directoryUser, nfsVersion } from '../../options/mount-values.ts';
import { flag, userId } from '../../options/option-type.ts';
import { nfsShare } from '../../options/share.ts';
import type { OptionTable } from '../options/option-table.ts';
import { mountRow } from '../options/option-table.ts';
import type { SecretPrefix } from '../options/password-rows.ts';
import { passwordRows } from '../options/password-rows.ts';
import type { Offering, OfferingSettings } from './offering.ts';

const anywhere = ['provision', 'bind'] as const;

const common: OptionTable = [
  {
    name: 'share',
    type: nfsShare,
    places: ['provision'],
    mountOption: 'source',
    prefix: 'nfs://',
    neededAt: 'provision',
    description: 'host:/path of the export',
  },
  {
    name: 'version',
    type: nfsVersion,
    places: anywhere,
    mountOption: 'version',
    description: 'version of the NFS protocol; without it, server and client agree on one',
  },
  {
    name: 'readonly',
    type: flag,
    places: anywhere,
    mountOption: 'readonly',
    description: 'the app cannot write',
  },
  mountRow,
  {
    name: 'auto_cache',
    type: flag,
    places: anywhere,
    mountOption: 'auto_cache',
    description: 'without effect in the present drivers, which accept it',
  },
  {
    name: 'cache',
    type: flag,
    places: anywhere,
    mountOption: 'cache',
    description: 'the client caches attributes of files',
  },
];

const byId: OptionTable = [
  {
    name: 'uid',
    type: userId,
    places: anywhere,
    mountOption: 'uid',
    needs: 'gid',
    description: 'user on the server by whose rights the app reads and writes',
  },
  {
    name: 'gid',
    type: userId,
    places: anywhere,
    mountOption: 'gid',
    needs: 'uid',
    description: 'group on the server by whose rights the app reads and writes',
  },
];

const byLdap = (secrets: SecretPrefix | undefined): OptionTable => [
  {
    name: 'username',
    type: directoryUser,
    places: anywhere,
    mountOption: 'username',
    needs: 'password',
    description: 'user of the directory by whose uid and gid the app reads and writes',
  },
  ...passwordRows(secrets, { type: directoryPassword, needs: 'username' }),
];

/** How users of the server are named. */
interface NfsUsers {
  /** By username and password in place of uid and gid. */
  readonly ldap: boolean;
  /** Where passwords may be named. */
  readonly secrets?: SecretPrefix | undefined;
}

/** The offering of nfsbroker. */
export function nfsOffering({ ldap, secrets, ...settings }: OfferingSettings & NfsUsers): Offering {
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
    table: [...common, ...(ldap ? byLdap(secrets) : byId)],
    ...settings,
  };
}
