import type { NfsMountSpec, SmbMountSpec } from '../mount-command.ts';

/** Mounts without any option. */
export const nfs: NfsMountSpec = {
  kind: 'nfs',
  host: 'h',
  path: '/x',
  readOnly: false,
  attributeCaching: false,
};
export const smb: SmbMountSpec = {
  kind: 'smb',
  share: '//h/s',
  username: 'u',
  password: 'p',
  readOnly: false,
  flags: [],
};
