import { type JsonObject, isObject, parseJsonObject } from '../../platform/json.ts';
import type { PostgresAccess } from './store/postgres-store.ts';

/** The access to a bound database, or the reason why a service cannot be used. The reason quotes no value. */
type VcapPostgresResult = { readonly access: PostgresAccess } | { readonly problem: string };

/**
 * Returns the access to the PostgreSQL service that is bound to this Cloud Foundry app under `name`. The
 * service may be user-provided or of a broker. Reads `uri`, and the fields that PostgreSQL brokers return;
 * the fields win.
 */
export function postgresFromVcapServices(vcapServices: string | undefined, name: string): VcapPostgresResult {
  if (vcapServices === undefined)
    return { problem: 'works only in an app of Cloud Foundry: VCAP_SERVICES is not in the environment' };
  const service = parseVcapServices(vcapServices).find((candidate) => candidate['name'] === name);
  if (service === undefined)
    return { problem: 'names no service that is bound to this app; bind it (cf bind-service) and restage' };
  const { credentials } = service;
  const given = isObject(credentials) ? credentials : {};
  const access = { ...fromUri(given), ...fromFields(given) };
  const { host, database, user, port = 5432 } = access;
  if (host === undefined || database === undefined || user === undefined || !(port > 0 && port <= 65_535))
    return {
      problem:
        'names a service whose credentials have neither uri nor all of hostname, port, dbname and username',
    };
  const ca = firstString(given, ['ca', 'ca_cert', 'cacrt', 'sslrootcert']);
  const isPem = ca?.includes('-----BEGIN CERTIFICATE-----') === true;
  return { access: { host, database, user, port, password: access.password, ca: isPem ? ca : undefined } };
}

/** Returns the services of all labels. Returns an empty list if the text is not JSON or not an object. */
function parseVcapServices(vcapServices: string): JsonObject[] {
  return Object.values(parseJsonObject(vcapServices) ?? {})
    .flat()
    .filter(isObject);
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

/** Decodes percent-encoding. Returns the text unchanged if it is not valid percent-encoding. */
function decodeUriLenient(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
