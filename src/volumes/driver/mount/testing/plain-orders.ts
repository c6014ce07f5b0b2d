import type { NfsOrder, SmbOrder } from '../mount-order.ts';

/** Orders without any option. */
export const nfs: NfsOrder = { kind: 'nfs', host: 'h', path: '/x', readOnly: false, cachesAttributes: false };
export const smb: SmbOrder = {
  kind: 'smb',
  share: '//h/s',
  username: 'u',
  password: 'p',
  readOnly: false,
  flags: [],
};
