import { parseDocument } from 'yaml';
import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import { Fields } from '../../platform/fields.ts';
import type { BasicAuth } from './http/auth.ts';
import {
  type AllowedShare,
  type Offering,
  type OfferingSettings,
  nfsOffering,
  smbOffering,
} from './offerings/offering.ts';
import { isSecretPath } from '../signature/secret-reference.ts';
import { readSigningKey } from '../signature/signed-volume-id.ts';
import type { VolumeIdScheme } from './volume-mount.ts';
import { find, type Options } from './offerings/option-table.ts';
import { type OptionValue, printableName } from '../options/option-types.ts';
import type { SecretPrefix } from './offerings/user-options.ts';
import type { PreflightMode } from './preflight.ts';
import {
  type CredhubConfig,
  parseCredhubConfig,
  parseStoreConfig,
  type StoreConfig,
} from './store-config.ts';

/** The configuration of a broker. */
export interface BrokerConfig {
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls: { readonly certificate: string; readonly privateKey: string } | undefined;
  readonly auth: BasicAuth;
  readonly offerings: readonly Offering[];
  readonly store: StoreConfig;
  /**
   * They encrypt records in SQLite and PostgreSQL. They are not used with CredHub, which encrypts its own
   * data.
   */
  readonly encryptionKeys: readonly Buffer[];
  readonly scheme: VolumeIdScheme | { readonly signingKeyFile: string };
  readonly preflight: PreflightMode;
  /** The CredHub servers from which `volumes migrate` reads the records of the old brokers. */
  readonly migrateFrom: readonly CredhubConfig[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const keyBytes = 32;
const knownSettings = [
  'listen',
  'tls',
  'username',
  'password',
  'previous_password',
  'nfs',
  'smb',
  'store',
  'encryption_keys',
  'volume_id',
  'signing',
  'secrets',
  'preflight',
  'migrate_from',
];

/**
 * Parses the configuration, which is YAML as docs/volumes/broker.md shows it. One BROKER_CONFIG_INVALID lists
 * all errors, each with its field; no value is quoted. PORT of a Cloud Foundry app takes precedence over
 * `listen`.
 */
export function parseBrokerConfig(text: string, environment: Environment): BrokerConfig {
  const problems: string[] = [];
  const root = parseYaml(text);
  for (const name of Object.keys(root))
    if (!knownSettings.includes(name)) problems.push(`${printableName(name)} is not a setting`);
  const read = new Fields(root, '', problems);
  const username = read.text('username');
  const password = read.text('password');
  const previous = read.optionalText('previous_password');
  const store = parseStoreConfig(read, environment);
  const config = {
    listen: parseListen(read, environment),
    tls: parseTls(read),
    auth: { username, passwords: previous === undefined ? [password] : [password, previous] },
    offerings: parseOfferings(read, { named: Object.keys(root), secrets: parseSecretPrefix(read) }),
    store,
    encryptionKeys: parseEncryptionKeys(read, store),
    scheme: parseVolumeIdScheme(read),
    preflight: parsePreflightMode(read),
    migrateFrom: read.objects('migrate_from').map(parseCredhubConfig),
  };
  if (problems.length > 0) throw configError(problems);
  return config;
}

function configError(problems: readonly string[]): ProductError {
  const lines = problems.toSorted().map((problem) => `\n- ${problem}`);
  const message = `the configuration of the volume broker has ${problems.length} fault${problems.length === 1 ? '' : 's'}; correct ${problems.length === 1 ? 'it' : 'them'} and start it again:${lines.join('')}`;
  return new ProductError('BROKER_CONFIG_INVALID', message);
}

function parseYaml(text: string): JsonObject {
  const document = parseDocument(text, { uniqueKeys: true, merge: false });
  // the parser's messages quote lines, which may contain passwords
  const problems = document.errors.map(
    ({ code, linePos }) =>
      `line ${linePos?.[0].line ?? 1}: ${code === 'DUPLICATE_KEY' ? 'a duplicate key' : 'not valid YAML'}`,
  );
  if (problems.length > 0) throw configError(problems);
  const value: unknown = toJs(document);
  if (!isObject(value)) throw configError(['it must be a map of settings']);
  return value;
}

/** Converts the document. The parser rejects an alias with a ReferenceError. */
function toJs(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (error instanceof ReferenceError)
      throw configError(['it has an alias (*name), which is not supported; write the value instead']);
    throw error;
  }
}

function parseListen(read: Fields, { PORT }: Environment): BrokerConfig['listen'] {
  if (PORT !== undefined) {
    if (isPort(PORT)) return { host: '0.0.0.0', port: Number(PORT) };
    read.report('PORT', 'in the environment must be a port');
  }
  const listen = read.optionalText('listen') ?? '127.0.0.1:8999';
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]+)$/u.exec(listen) ?? [];
  const host = bracketed ?? plain;
  if (host !== undefined && isPort(port)) return { host, port: Number(port) };
  read.report('listen', 'must be address:port');
  return { host: '', port: 0 };
}

const isPort = (text: string): boolean => /^[0-9]{1,5}$/u.test(text) && Number(text) <= 65_535;

function parseTls(read: Fields): BrokerConfig['tls'] {
  if (read.value('tls') === undefined) return undefined;
  const tls = read.nested('tls');
  return { certificate: tls.text('certificate'), privateKey: tls.text('private_key') };
}

function parseEncryptionKeys(read: Fields, store: StoreConfig): Buffer[] {
  const value = read.value('encryption_keys');
  if ('credhub' in store) {
    if (value !== undefined) read.report('encryption_keys', 'must not be set: CredHub encrypts its data');
    return [];
  }
  const keys = Array.isArray(value) ? value.map(parseKey) : [];
  if (keys.length === 0 || keys.length > 2 || keys.includes(undefined))
    read.report(
      'encryption_keys',
      `must be one or two keys of ${keyBytes} bytes in base64: openssl rand -base64 ${keyBytes}`,
    );
  return keys.filter((key) => key !== undefined);
}

function parseVolumeIdScheme(read: Fields): BrokerConfig['scheme'] {
  const volumeId = read.value('volume_id');
  if (read.value('signing') !== undefined) {
    if (volumeId !== undefined)
      read.report('volume_id', 'must not be set together with signing, whose key makes the ids');
    return parseSigning(read.nested('signing'));
  }
  if (volumeId === 'md5') return 'md5';
  const key = isObject(volumeId) ? parseKey(volumeId['key']) : undefined;
  if (key === undefined)
    read.report(
      'volume_id',
      `must be md5, or a map with a key of ${keyBytes} bytes in base64: openssl rand -base64 ${keyBytes}`,
    );
  return { hmacKey: key ?? Buffer.alloc(0) };
}

/** Reads `signing`, whose `key` is the key itself or the path of its file. */
function parseSigning(read: Fields): BrokerConfig['scheme'] {
  const key = read.text('key');
  if (!key.includes('-----BEGIN')) return { signingKeyFile: key };
  const signingKey = readSigningKey(key);
  if ('id' in signingKey) return { signingKey };
  read.report('key', signingKey.problem);
  return { signingKeyFile: '' };
}

/**
 * Reads `secrets`: the store in which users may name secrets (`credhub` or `file`), and the prefix of their
 * names.
 */
function parseSecretPrefix(read: Fields): SecretPrefix | undefined {
  if (read.value('secrets') === undefined) return undefined;
  if (read.value('signing') === undefined)
    read.report('secrets', 'needs signing: drivers read no secret for a volume that is not signed');
  const secrets = read.nested('secrets');
  const [store = '', ...others] = Object.keys(read.map('secrets'));
  if (others.length > 0 || (store !== 'credhub' && store !== 'file')) {
    read.report('secrets', 'must have one of credhub, file');
    return undefined;
  }
  const name = secrets.text(store);
  if (name !== '' && !(name.startsWith('/') && isSecretPath(name.slice(1))))
    secrets.report(
      store,
      'must be a path such as /volumes, of letters, digits, dots, dashes and underscores',
    );
  return { store, name };
}

function parsePreflightMode(read: Fields): PreflightMode {
  const mode = read.value('preflight') ?? false;
  // some YAML parsers read `off` as false
  if (mode === false || mode === 'off') return 'off';
  if (mode === 'log' || mode === 'require') return mode;
  read.report('preflight', 'must be off, log or require');
  return 'off';
}

function parseKey(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/]{43}=$/u.test(value)) return undefined;
  return Buffer.from(value, 'base64');
}

/** Enables the offerings that have a key, even an empty one. Enables both if neither has a key. */
function parseOfferings(
  read: Fields,
  { named: listed, secrets }: { named: readonly string[]; secrets: SecretPrefix | undefined },
): Offering[] {
  const isNamed = (name: string): boolean => listed.includes(name);
  const names = ['nfs', 'smb'].filter((name) => isNamed(name) || !(isNamed('nfs') || isNamed('smb')));
  return names.map((name) => {
    const settings = read.nested(name);
    const ldap = name === 'nfs' && (settings.value('ldap') ?? false);
    if (typeof ldap !== 'boolean') settings.report('ldap', 'must be true or false');
    const allowed = [
      'defaults',
      'forced',
      'allowed_shares',
      'maintenance_info',
      ...(name === 'nfs' ? ['ldap'] : []),
    ];
    for (const other of Object.keys(read.map(name)))
      if (!allowed.includes(other)) settings.report(printableName(other), 'is not a setting');
    const maintenance = parseMaintenance(settings);
    const offeringFactory = (parsed: Pick<OfferingSettings, 'operator' | 'allowedShares'>): Offering =>
      name === 'nfs'
        ? nfsOffering({ ...parsed, ldap: ldap === true, secrets, maintenance })
        : smbOffering({ ...parsed, secrets, maintenance });
    const { table } = offeringFactory({ operator: { defaults: {}, forced: {} } });
    const operator = {
      defaults: parseOperatorOptions(settings, 'defaults', table),
      forced: parseOperatorOptions(settings, 'forced', table),
    };
    return offeringFactory({ operator, allowedShares: parseAllowedShares(settings, table) });
  });
}

function parseAllowedShares(settings: Fields, table: Offering['table']): readonly AllowedShare[] | undefined {
  const value = settings.value('allowed_shares');
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    settings.report('allowed_shares', 'must be a list');
    return [];
  }
  const row = find(table, 'share');
  return value.map((entry: unknown, index) => {
    const read = settings.item('allowed_shares', index, entry);
    const parsed = row?.type.parse(read.value('share'));
    if (parsed !== undefined && 'problem' in parsed) read.report('share', parsed.problem);
    const share = parsed !== undefined && 'value' in parsed ? String(parsed.value) : '';
    return { share, organizations: read.strings('organizations'), spaces: read.strings('spaces') };
  });
}

function parseOperatorOptions(settings: Fields, name: string, table: Offering['table']): Options {
  const options: Record<string, OptionValue> = {};
  for (const [key, value] of Object.entries(settings.map(name))) {
    const row = find(table, key);
    if (row === undefined) {
      settings.report(`${name}.${printableName(key)}`, 'is not an option of this offering');
      continue;
    }
    const parsed = row.type.parse(value);
    if ('problem' in parsed) settings.report(`${name}.${key}`, parsed.problem);
    else options[row.name] = parsed.value;
  }
  return options;
}

function parseMaintenance(settings: Fields): Offering['maintenance'] {
  if (settings.value('maintenance_info') === undefined) return undefined;
  const info = settings.nested('maintenance_info');
  const version = info.text('version');
  if (version !== '' && !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/u.test(version))
    info.report('version', 'must be a semantic version such as 1.0.0');
  const description = info.optionalText('description');
  return { version, ...(description === undefined ? {} : { description }) };
}
