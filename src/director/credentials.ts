import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { parseYaml } from '../bosh/yaml/parse-yaml.ts';
import { toValue } from '../bosh/yaml/yaml-node.ts';
import { ProductError } from '../errors/product-error.ts';
import { isObject, type JsonObject } from '../platform/json.ts';
import { readOwnFile } from '../platform/read-file.ts';
import type { DirectorFile } from './director-directory.ts';

export type Variables = Readonly<Record<string, string>>;

const varsStorePath = (directory: string): string => join(directory, 'creds.yml');

/**
 * Returns the environment variables for the bosh CLI and the credhub CLI to use the director at that address:
 * BOSH_*, and CREDHUB_* if it has CredHub. Reads them by bosh-deployment's names from the vars store of its
 * folder. They are secret. Rejects with FILE_NOT_FOUND before the director is created, and with
 * VARS_STORE_INVALID, which quotes no value, if something is missing.
 */
export async function readDirectorVariables(
  directory: string,
  { address, outside }: Pick<DirectorFile, 'address' | 'outside'>,
): Promise<Variables> {
  const path = varsStorePath(directory);
  const endpoint = outside ?? { host: address, director: 25555, credhub: 8844 };
  return directorVariables(await readStore(path), endpoint, path);
}

async function readStore(path: string): Promise<JsonObject> {
  const text = await readOwnFile(path);
  if (text === undefined)
    throw new ProductError(
      'FILE_NOT_FOUND',
      `There is no vars store '${path}'; first create the director with the commands in commands.sh`,
    );
  const store = toValue(parseYaml(text, path, 'VARS_STORE_INVALID'));
  return isObject(store) ? store : {};
}

/** Returns the variables of `readDirectorVariables` from a vars store. `path` is for errors. */
export function directorVariables(
  store: JsonObject,
  endpoint: NonNullable<DirectorFile['outside']>,
  path: string,
): Variables {
  const host = isIPv6(endpoint.host) ? `[${endpoint.host}]` : endpoint.host;
  const need = (...names: readonly string[]): string => requireVariable(store, names, path);
  const bosh = {
    BOSH_ENVIRONMENT: `https://${host}:${endpoint.director}`,
    BOSH_CLIENT: 'admin',
    BOSH_CLIENT_SECRET: need('admin_password'),
    BOSH_CA_CERT: need('director_ssl', 'ca'),
  };
  if (store['credhub_admin_client_secret'] === undefined) return bosh;
  return {
    ...bosh,
    CREDHUB_SERVER: `https://${host}:${endpoint.credhub}/api`,
    CREDHUB_CLIENT: 'credhub-admin',
    CREDHUB_SECRET: need('credhub_admin_client_secret'),
    // CredHub redirects its clients to the UAA
    CREDHUB_CA_CERT: `${need('credhub_tls', 'ca').trimEnd()}\n${need('uaa_ssl', 'ca')}`,
  };
}

/**
 * Returns the access to the agent of the director's VM, read by bosh-deployment's names from the vars store.
 * The mbus and the password are secret. Rejects as readDirectorVariables does.
 */
export async function readDirectorAgent(
  directory: string,
  address: string,
): Promise<{ readonly mbus: string; readonly password: string; readonly ca: string }> {
  const path = varsStorePath(directory);
  const store = await readStore(path);
  const password = requireVariable(store, ['mbus_bootstrap_password'], path);
  const host = isIPv6(address) ? `[${address}]` : address;
  return {
    mbus: `https://mbus:${encodeURIComponent(password)}@${host}:6868`,
    password,
    ca: requireVariable(store, ['mbus_bootstrap_ssl', 'ca'], path),
  };
}

function requireVariable(store: JsonObject, names: readonly string[], path: string): string {
  const value = names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), store);
  const credentialPath = `/${names.join('/')}`;
  if (typeof value !== 'string' || value === '')
    throw new ProductError(
      'VARS_STORE_INVALID',
      `Vars store '${path}' has no ${credentialPath}; it must be the creds.yml that create-env with bosh-deployment wrote`,
    );
  // a shell or a terminal would change the value
  if (/[^\P{Cc}\n]/u.test(value))
    throw new ProductError(
      'VARS_STORE_INVALID',
      `${credentialPath} of vars store '${path}' has a control character; correct it there`,
    );
  return value;
}
