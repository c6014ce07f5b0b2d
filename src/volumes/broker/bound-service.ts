import type { JsonObject } from '../../platform/fields.ts';
import { isObject } from '../../platform/fields.ts';
import type { PostgresAccess } from './store/postgres-store.ts';

/** A database that is bound to this app, or why it is none; no value is quoted. */
export type VcapPostgresResult = { readonly access: PostgresAccess } | { readonly fault: string };

/**
 * Reads the PostgreSQL of a service that is bound to this app of Cloud Foundry under a name, a user-provided
 * one or one of a broker: by `uri`, or by the fields that brokers of PostgreSQL answer.
 */
export function postgresFromVcapServices(vcapServices: string | undefined, name: string): VcapPostgresResult {
  if (vcapServices === undefined)
    return { fault: 'is for an app of Cloud Foundry: there is no VCAP_SERVICES in the environment' };
  const service = parseVcapServices(vcapServices).find((candidate) => candidate['name'] === name);
  if (service === undefined)
    return { fault: 'names no service that is bound to this app; bind it (cf bind-service) and restage' };
  const { credentials } = service;
  const given = isObject(credentials) ? credentials : {};
  const access = { ...fromUri(given), ...fromFields(given) };
  const { host, database, user, port = 5432 } = access;
  if (host === undefined || database === undefined || user === undefined || !(port > 0 && port <= 65_535))
    return {
      fault: 'names a service whose credentials have no uri, and not hostname, port, dbname and username',
    };
  const ca = firstString(given, ['ca', 'ca_cert', 'cacrt', 'sslrootcert']);
  const isPem = ca?.includes('-----BEGIN CERTIFICATE-----') === true;
  return { access: { host, database, user, port, password: access.password, ca: isPem ? ca : undefined } };
}

/** Of all labels; a text that is no such JSON has none. */
function parseVcapServices(vcapServices: string): JsonObject[] {
  try {
    const value: unknown = JSON.parse(vcapServices);
    return isObject(value) ? Object.values(value).flat().filter(isObject) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function fromUri(credentials: JsonObject): Partial<PostgresAccess> {
  const url = URL.parse(firstString(credentials, ['uri', 'url']) ?? '');
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) return {};
  const [host = '', database = '', user = '', password = ''] = [
    url.hostname.replace(/^\[(.*)\]$/u, '$1'),
    url.pathname.slice(1),
    url.username,
    url.password,
  ].map(decodeUriLenient);
  return omitEmpty({ host, database, user, password }, url.port);
}

function fromFields(credentials: JsonObject): Partial<PostgresAccess> {
  const { port } = credentials;
  return omitEmpty(
    {
      host: firstString(credentials, ['hostname', 'host']),
      database: firstString(credentials, ['dbname', 'database', 'db', 'name']),
      user: firstString(credentials, ['username', 'user']),
      password: firstString(credentials, ['password']),
    },
    typeof port === 'number' ? String(port) : firstString(credentials, ['port']),
  );
}

function omitEmpty(
  texts: { readonly [Name in 'host' | 'database' | 'user' | 'password']: string | undefined },
  port: string | undefined,
): Partial<PostgresAccess> {
  const given = Object.entries(texts).filter(([, text]) => text !== undefined && text !== '');
  return {
    ...Object.fromEntries(given),
    ...(port === undefined || port === '' ? {} : { port: Number(port) }),
  };
}

const firstString = (credentials: JsonObject, names: readonly string[]): string | undefined =>
  names.map((name) => credentials[name]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined;

/** A percent sign that encodes nothing stands for itself. */
function decodeUriLenient(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
