import { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Client, Entry } from 'ldapts';
import { MountError, type MountErrorCode } from './mount/mount-error.ts';
import type { IdMapping } from './mount/mount-command.ts';
import type { DirectoryLogin } from './parse-mount-config.ts';

/**
 * Returns the ids of a user in the directory, and checks the password. Throws MountError, without secrets.
 */
export type ResolveIds = (login: DirectoryLogin, signal: AbortSignal) => Promise<IdMapping>;

/** The kernel treats 4294967295 as -1, and 0 is root. */
const lastId = 4_294_967_294;

/**
 * Returns a resolver that queries the LDAP server at each mount, so that a changed password takes effect at
 * once. It loads the LDAP library only then.
 */
export function createLdapIdResolver(settings: LdapSettings): ResolveIds {
  return async (login, signal) => {
    // an LDAP bind with an empty password is anonymous and succeeds (RFC 4513, 5.1.2)
    if (login.username === '' || login.password === '')
      throw ldapError('BAD_CREDENTIALS', 'username and password must not be empty; correct the binding');
    const { Client } = await import('ldapts');
    const { url, caCertificate, timeout } = settings;
    const client = new Client({
      url,
      timeout,
      connectTimeout: timeout,
      ...(caCertificate !== undefined && { tlsOptions: { ca: caCertificate } }),
    });
    const late = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void =>
      aborted.reject(ldapError('TIMED_OUT', 'the LDAP server did not answer in time; ask the operator'));
    late.addEventListener('abort', onAbort, { once: true });
    if (late.aborted) onAbort();
    try {
      return await Promise.race([resolve(client, settings, login), aborted.promise]);
    } finally {
      late.removeEventListener('abort', onAbort);
      await client.unbind();
    }
  };
}

async function resolve(
  client: Client,
  { serviceUser, servicePassword, searchBase }: LdapSettings,
  { username, password }: DirectoryLogin,
): Promise<IdMapping> {
  const { AndFilter, EqualityFilter } = await import('ldapts');
  await client.bind(serviceUser, servicePassword).catch((error: Error) => {
    throw isLdapResultError(error)
      ? ldapError(
          'FAILED',
          'the LDAP server refuses the driver itself; the operator must correct LDAP_SVC_USER and LDAP_SVC_PASS',
          error,
        )
      : ldapError(
          'UNREACHABLE',
          'LDAP server could not be reached, please contact your system administrator',
          error,
        );
  });
  // the name is a value of the protocol, so it need not be escaped as in the text of a filter
  const filter = new AndFilter({
    filters: [
      new EqualityFilter({ attribute: 'objectClass', value: 'User' }),
      new EqualityFilter({ attribute: 'cn', value: username }),
    ],
  });
  const attributes = ['uidNumber', 'gidNumber'];
  const { searchEntries } = await client
    .search(searchBase, { scope: 'sub', filter, attributes })
    .catch((error: Error) => {
      throw ldapError(
        'FAILED',
        'the LDAP server refuses the search for users; the operator must correct LDAP_USER_FQDN',
        error,
      );
    });
  const [entry] = searchEntries;
  if (entry === undefined) throw ldapError('BAD_CREDENTIALS', 'User does not exist; correct username');
  if (searchEntries.length > 1)
    throw ldapError(
      'BAD_CREDENTIALS',
      'Ambiguous search--too many results: more than one user has this name; ask the operator',
    );
  const ids = idsFromEntry(entry);
  await client.bind(entry.dn, password).catch((error: Error) => {
    throw isLdapResultError(error)
      ? ldapError(
          'BAD_CREDENTIALS',
          'the LDAP server refuses the password; correct username and password',
          error,
        )
      : ldapError(
          'UNREACHABLE',
          'LDAP server could not be reached, please contact your system administrator',
          error,
        );
  });
  return ids;
}

/** Returns the ids of a directory entry. A user without a gidNumber gets the gid that equals the uid. */
function idsFromEntry(entry: Entry): IdMapping {
  const id = (name: string): number | undefined => {
    const value = entry[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return undefined;
    const number = typeof value === 'string' && /^\d{1,10}$/u.test(value) ? Number(value) : 0;
    if (number < 1 || number > lastId)
      throw ldapError(
        'FAILED',
        `${name} of the user in the directory is not between 1 and ${lastId}; the operator must correct it`,
      );
    return number;
  };
  const uid = id('uidNumber');
  if (uid === undefined)
    throw ldapError('FAILED', 'the user has no uidNumber in the directory; the operator must add one');
  return { uid, gid: id('gidNumber') ?? uid };
}

/**
 * Returns true for a response of the server with a result code (RFC 4511). Connection errors have names as
 * codes.
 */
const isLdapResultError = (error: Error): boolean => 'code' in error && typeof error.code === 'number';

/** Returns an error without the server's message, which may quote what the client sent. */
function ldapError(code: MountErrorCode, reason: string, cause?: Error): MountError {
  return new MountError(code, `The share was not mounted: ${reason}`, cause && { cause });
}

/** The LDAP server that has the ids of users, with the settings that nfsv3driver has for it. */
export interface LdapSettings {
  /** `ldaps:` if there is a CA. Otherwise `ldap:`, which sends passwords unencrypted. */
  readonly url: string;
  readonly serviceUser: string;
  readonly servicePassword: string;
  /** The base of the search for users. */
  readonly searchBase: string;
  /** The CA certificate of the server in PEM. */
  readonly caCertificate: string | undefined;
  /** Timeout of one look-up in milliseconds. */
  readonly timeout: number;
}

/**
 * Parses nfsv3driver's LDAP_* variables. Returns undefined without LDAP_HOST. Adds errors to `problems`; they
 * name variables and no values.
 */
export function parseLdapSettings(
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): LdapSettings | undefined {
  const value = (name: string): string | undefined => environment[name] || undefined;
  const host = value('LDAP_HOST');
  if (host === undefined) return undefined;
  const required = (name: string): string => {
    const found = value(name);
    if (found === undefined) problems.push(`${name} is missing, since LDAP_HOST is set`);
    return found ?? '';
  };
  const number = (name: string, defaultValue: string, largest: number): number => {
    const text = value(name) ?? defaultValue;
    const parsed = /^[1-9]\d{0,6}$/u.test(text) ? Number(text) : Infinity;
    if (parsed > largest) problems.push(`${name} must be a number from 1 to ${largest}`);
    return parsed;
  };
  if (!/^[A-Za-z0-9.:-]+$/u.test(host)) problems.push('LDAP_HOST must be a host name or an address');
  if (!['tcp', 'tcp4', 'tcp6'].includes(value('LDAP_PROTO') ?? 'tcp'))
    problems.push('LDAP_PROTO must be tcp');
  const caCertificate = value('LDAP_CA_CERT');
  if (caCertificate !== undefined && !isCertificate(caCertificate))
    problems.push('LDAP_CA_CERT must be a certificate in PEM');
  const port = number('LDAP_PORT', caCertificate === undefined ? '389' : '636', 65_535);
  return {
    url: `${caCertificate === undefined ? 'ldap' : 'ldaps'}://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    serviceUser: required('LDAP_SVC_USER'),
    servicePassword: required('LDAP_SVC_PASS'),
    searchBase: required('LDAP_USER_FQDN'),
    caCertificate,
    timeout: number('LDAP_TIMEOUT', '120', 3600) * 1000,
  };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch (error) {
    // any error of OpenSSL means that the text is not a certificate
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
