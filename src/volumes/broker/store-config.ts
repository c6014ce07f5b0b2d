import type { CredhubSettings } from '../credhub/credhub-settings.ts';
import { readCredhubSettings } from '../credhub/credhub-settings.ts';
import { postgresFromVcapServices } from './vcap-services.ts';
import type { Fields } from '../../platform/fields.ts';
import type { PostgresAccess } from './store/postgres-store.ts';

/** The store of the records. */
export type StoreConfig =
  | { readonly sqlite: string }
  | { readonly postgresql: PostgresAccess & { readonly caFile: string | undefined } }
  | { readonly credhub: CredhubConfig };

/** A CredHub, and the path of a broker in it. */
export interface CredhubConfig extends CredhubSettings {
  readonly storeId: string;
}

const storeKinds = ['sqlite', 'postgresql', 'credhub'];

/** Parses the setting `store`. */
export function parseStoreConfig(
  read: Fields,
  { VCAP_APPLICATION, VCAP_SERVICES }: Readonly<Record<string, string | undefined>>,
): StoreConfig {
  const store = read.nested('store');
  const [kind = '', ...others] = Object.keys(read.map('store'));
  if (others.length > 0 || !storeKinds.includes(kind)) {
    read.report('store', `must have one of ${storeKinds.join(', ')}`);
    return { sqlite: '' };
  }
  if (kind === 'postgresql')
    return { postgresql: parsePostgresConfig(store.nested('postgresql'), VCAP_SERVICES) };
  if (kind === 'credhub') return { credhub: parseCredhubConfig(store.nested('credhub')) };
  if (VCAP_APPLICATION !== undefined)
    store.report('sqlite', 'is lost when an app of Cloud Foundry restarts; use postgresql or credhub');
  return { sqlite: store.text('sqlite') };
}

function parsePostgresConfig(
  read: Fields,
  vcapServices: string | undefined,
): Extract<StoreConfig, { postgresql: unknown }>['postgresql'] {
  const service = read.optionalText('service');
  if (service !== undefined) {
    for (const name of ['host', 'port', 'database', 'user', 'password'])
      if (read.value(name) !== undefined) read.report(name, 'must not be set together with service');
    const bound = postgresFromVcapServices(vcapServices, service);
    if ('access' in bound) return { ...bound.access, caFile: read.optionalText('ca') };
    read.report('service', bound.problem);
    return { host: '', port: 0, database: '', user: '', caFile: undefined };
  }
  const port = read.value('port') ?? 5432;
  if (!(typeof port === 'number' && Number.isInteger(port) && port > 0 && port <= 65_535))
    read.report('port', 'must be a port');
  return {
    host: read.text('host'),
    port: Number(port),
    database: read.text('database'),
    user: read.text('user'),
    password: read.optionalText('password'),
    caFile: read.optionalText('ca'),
  };
}

/** Parses the settings of a CredHub. */
export function parseCredhubConfig(read: Fields): CredhubConfig {
  const storeId = read.text('store_id');
  // it is part of credential names, which have at most 255 characters
  if (storeId !== '' && !/^[A-Za-z0-9_-]{1,64}$/u.test(storeId))
    read.report('store_id', 'must be 1 to 64 letters, digits, dashes and underscores');
  return { ...readCredhubSettings(read), storeId };
}
