import { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';

/** Where the directory is that has the ids of users, as nfsv3driver is told of it. */
export interface LdapSettings {
  /** `ldaps:` with a CA, else `ldap:`, which shows passwords to the network. */
  readonly url: string;
  readonly serviceUser: string;
  readonly servicePassword: string;
  /** Users are searched for below this entry. */
  readonly searchBase: string;
  /** In PEM. */
  readonly caCertificate: string | undefined;
  /** Milliseconds for the whole of one search. */
  readonly timeout: number;
}

/**
 * Parses the variables LDAP_* of nfsv3driver; undefined without LDAP_HOST. Faults, which name variables and
 * no values, are added to `faults`.
 */
export function parseLdapSettings(
  environment: Readonly<Record<string, string | undefined>>,
  faults: string[],
): LdapSettings | undefined {
  const value = (name: string): string | undefined => environment[name] || undefined;
  const host = value('LDAP_HOST');
  if (host === undefined) return undefined;
  const required = (name: string): string => {
    const found = value(name);
    if (found === undefined) faults.push(`${name} is missing, since LDAP_HOST is set`);
    return found ?? '';
  };
  const number = (name: string, usual: string, largest: number): number => {
    const text = value(name) ?? usual;
    const parsed = /^[1-9]\d{0,6}$/u.test(text) ? Number(text) : Infinity;
    if (parsed > largest) faults.push(`${name} must be a number from 1 to ${largest}`);
    return parsed;
  };
  if (!/^[A-Za-z0-9.:-]+$/u.test(host)) faults.push('LDAP_HOST must be a host name or an address');
  if (!['tcp', 'tcp4', 'tcp6'].includes(value('LDAP_PROTO') ?? 'tcp')) faults.push('LDAP_PROTO must be tcp');
  const caCertificate = value('LDAP_CA_CERT');
  if (caCertificate !== undefined && !isCertificate(caCertificate))
    faults.push('LDAP_CA_CERT must be a certificate in PEM');
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
    // whatever OpenSSL says of what is no certificate
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
