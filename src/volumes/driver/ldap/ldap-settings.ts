import { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';

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
 * Parses nfsv3driver's LDAP_* variables. Returns undefined without LDAP_HOST. Adds errors to `faults`; they
 * name variables and no values.
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
    // any error of OpenSSL means that the text is not a certificate
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
