import { unsupportedEnvKeys } from '../../bosh/manifest/unsupported-env.ts';
import { tryParseJson, isObject, type JsonObject } from '../../platform/json.ts';
import { ProductError } from '../../errors/product-error.ts';

export interface Network {
  readonly type: string;
  readonly ip: string | undefined;
  readonly netmask: string | undefined;
  readonly gateway: string | undefined;
  /** True if the network is the default for DNS or for the gateway. */
  readonly isDefault: boolean;
}

/** The agent's certificate. All are PEM. */
export interface BusCertificate {
  readonly certificate: string;
  readonly privateKey: string;
  /** The CA of the server. A NATS bus needs it; the HTTPS bus is the server itself. */
  readonly ca: string | undefined;
}

export interface BlobstoreSettings {
  /** `local`, `dav`, or the name of a program `bosh-blobstore-PROVIDER`. */
  readonly provider: string;
  readonly options: JsonObject;
}

/** The settings that the agent reads (bosh-agent: settings/settings.go). */
export interface Settings {
  readonly agentId: string;
  readonly vmName: string;
  /** The URLs of the bus, at least one: `env.bosh.mbus.urls` overrides `mbus`. */
  readonly mbusUrls: readonly [string, ...string[]];
  readonly certificate: BusCertificate | undefined;
  readonly networks: ReadonlyMap<string, Network>;
  /** Hints of `disks.persistent`, by disk cid. */
  readonly persistentDisks: ReadonlyMap<string, unknown>;
  readonly persistentDiskFileSystem: string;
  readonly persistentDiskMountOptions: readonly string[];
  readonly persistentDiskPartitioner: string;
  /** SSH public keys that may log in as vcap. */
  readonly authorizedKeys: readonly string[];
  /** How many archives are unpacked at the same time. */
  readonly parallel: number;
  /** `env.bosh.blobstores` overrides `blobstore`. Undefined if neither is present. */
  readonly blobstore: BlobstoreSettings | undefined;
  /** Names of settings that have no effect in this agent. */
  readonly ignoredSettings: readonly string[];
}

/** Parses settings from JSON. `source` names them in AGENT_SETTINGS_INVALID. */
export function parseSettings(text: string, source: string): Settings {
  const root = parseObject(text, source);
  const env = objectAt(root, 'env');
  const bosh = objectAt(env, 'bosh');
  const busEnv = objectAt(bosh, 'mbus');
  const disks = objectAt(root, 'disks');
  return {
    agentId: requiredText(root, 'agent_id', source),
    vmName: textAt(objectAt(root, 'vm'), 'name') ?? '',
    mbusUrls: parseUrls(busEnv) ?? [requiredText(root, 'mbus', source)],
    certificate: parseCertificate(objectAt(busEnv, 'cert')),
    networks: parseNetworks(objectAt(root, 'networks')),
    persistentDisks: new Map(Object.entries(objectAt(disks, 'persistent'))),
    persistentDiskFileSystem: textAt(env, 'persistent_disk_fs') ?? '',
    persistentDiskMountOptions: textsAt(env, 'persistent_disk_mount_options'),
    persistentDiskPartitioner: textAt(env, 'persistent_disk_partitioner') ?? '',
    authorizedKeys: textsAt(bosh, 'authorized_keys'),
    parallel: typeof bosh['parallel'] === 'number' && bosh['parallel'] > 0 ? bosh['parallel'] : 5,
    blobstore: parseFirstBlobstore(bosh['blobstores']) ?? parseBlobstore(root['blobstore']),
    ignoredSettings: unsupportedEnvKeys(env).map(({ key }) => `env.${key}`),
  };
}

function parseObject(text: string, source: string): JsonObject {
  const value = tryParseJson(text);
  if (isObject(value)) return value;
  if (value === undefined) throw new ProductError('AGENT_SETTINGS_INVALID', `${source} is not JSON`);
  throw new ProductError('AGENT_SETTINGS_INVALID', `${source} is not a JSON object`);
}

function requiredText(object: JsonObject, key: string, source: string): string {
  const value = textAt(object, key);
  if (value !== undefined && value !== '') return value;
  throw new ProductError('AGENT_SETTINGS_INVALID', `${source} has no text '${key}': the CPI has to give it`);
}

/** Parses `mbus.cert` of env.bosh or of update_settings; undefined if a certificate or a key is missing. */
export function parseCertificate(cert: JsonObject): BusCertificate | undefined {
  const certificate = textAt(cert, 'certificate');
  const privateKey = textAt(cert, 'private_key');
  const ca = textAt(cert, 'ca') || undefined;
  return certificate && privateKey ? { certificate, privateKey, ca } : undefined;
}

function parseNetworks(networks: JsonObject): ReadonlyMap<string, Network> {
  const entries = Object.entries(networks).map(([name, value]): [string, Network] => {
    const network = isObject(value) ? value : {};
    return [
      name,
      {
        // In bosh-agent, a network without a type is manual.
        type: textAt(network, 'type') || 'manual',
        ip: textAt(network, 'ip') || undefined,
        netmask: textAt(network, 'netmask') || undefined,
        gateway: textAt(network, 'gateway') || undefined,
        isDefault: textsAt(network, 'default').length > 0,
      },
    ];
  });
  return new Map(entries);
}

/** Parses the first of a list of blobstores, which is the one in use; undefined if there is none. */
export function parseFirstBlobstore(list: unknown): BlobstoreSettings | undefined {
  return Array.isArray(list) ? parseBlobstore(list[0]) : undefined;
}

function parseBlobstore(value: unknown): BlobstoreSettings | undefined {
  if (!isObject(value)) return undefined;
  const provider = textAt(value, 'provider');
  return provider === undefined ? undefined : { provider, options: objectAt(value, 'options') };
}

function parseUrls(busEnv: JsonObject): [string, ...string[]] | undefined {
  const [first, ...rest] = textsAt(busEnv, 'urls');
  return first === undefined ? undefined : [first, ...rest];
}

function objectAt(object: JsonObject, key: string): JsonObject {
  const value = object[key];
  return isObject(value) ? value : {};
}

function textAt(object: JsonObject, key: string): string | undefined {
  const value = object[key];
  return typeof value === 'string' ? value : undefined;
}

function textsAt(object: JsonObject, key: string): readonly string[] {
  const value = object[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
