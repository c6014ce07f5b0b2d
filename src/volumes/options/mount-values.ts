import { choice, text } from './option-type.ts';

/** A version of NFS. With `4`, server and client negotiate the minor version. */
export const nfsVersion = choice(['3', '3.0', '4', '4.0', '4.1', '4.2']);

/** A version of SMB. */
export const smbVersion = choice(['1.0', '2.0', '2.1', '3', '3.0', '3.1.1'], { '1': '1.0', '2': '2.0' });

/** The name of a user in a directory (LDAP). */
export const directoryUser = text(
  /^[^\p{Cc}\p{Zl}\p{Zp},-][^\p{Cc}\p{Zl}\p{Zp},]*$/u,
  256,
  'a name without comma, control characters and leading dash',
);

/**
 * Rejects an empty password: many LDAP servers treat it as an anonymous bind, which succeeds (RFC 4513,
 * 5.1.2).
 */
export const directoryPassword = text(/^[^\p{Cc}]+$/u, 1024, 'a text without control characters');

/**
 * A user name without `%` and slashes: in mount.cifs `user%password` and `domain/user` have a special
 * meaning.
 */
export const smbUser = text(
  /^[^\p{Cc}\p{Zl}\p{Zp},%/\\-][^\p{Cc}\p{Zl}\p{Zp},%/\\]*$/u,
  256,
  'a name without comma, %, slashes, control characters and leading dash',
);

export const smbPassword = text(/^[^\p{Cc}]+$/u, 512, 'a text without control characters');

export const smbDomain = text(
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/u,
  255,
  'a name of letters, digits, dots, dashes and underscores',
);
