import {
  isJsonText,
  parseKubeconfig,
  type Kubeconfig,
  type NamedEntry,
  optionalString,
} from './kubeconfig.ts';
import { type Access, httpsRequired } from './access.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { pemProblem } from './pem.ts';
import { readTextFile } from '../../platform/read-text-file.ts';
import { environmentProxy, proxyProblem } from './proxy.ts';

export interface AccessOptions {
  /** Default: the kubeconfig's current-context. */
  readonly context?: string | undefined;
  /** Default: the context's namespace, then `default`. */
  readonly namespace?: string | undefined;
  /** Used if neither `namespace` nor the context sets a namespace. Default: `default`. */
  readonly defaultNamespace?: string | undefined;
  /** The environment for exec plugins and for the proxy to the server. Default: empty. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Decides when a plugin's credentials have expired. */
  readonly clock?: Clock | undefined;
  /** The base directory of relative file references; without it they are rejected. */
  readonly directory?: string | undefined;
}

/** Settings that would weaken TLS, or that need a program or a form of secret that is not supported. */
const unsupportedClusterKeys = {
  'insecure-skip-tls-verify': 'is not accepted: TLS is always verified; give certificate-authority-data',
};
const unsupportedUserKeys = {
  username: 'is not supported: use a token or a client certificate',
  password: 'is not supported: use a token or a client certificate',
  'auth-provider':
    "is not supported: kubectl has dropped 'gcp' and 'azure' in 1.26, and this program does not speak 'oidc'; use a plugin by 'exec', a token or a client certificate",
};
const impersonationKeys = ['as', 'as-groups', 'as-uid', 'as-user-extra'];

/**
 * Returns the access that one context of a kubeconfig describes. Referenced files are read, except that a
 * token file stays a reference. Rejects with INVALID_CONFIG, which names the key that is missing, unreadable
 * or rejected.
 */
export async function resolveAccess(kubeconfig: Kubeconfig, choice: AccessOptions = {}): Promise<Access> {
  const context = pickContext(kubeconfig, choice.context);
  const cluster = pick(kubeconfig.clusters, 'clusters', context.get('cluster'));
  const user = pick(kubeconfig.users, 'users', context.get('user'));
  rejectKeys(cluster, unsupportedClusterKeys);
  rejectKeys(user, unsupportedUserKeys);
  const contextNamespace = optionalString(context.get('namespace'));
  return {
    ...clusterPart(cluster, choice),
    ...(isSet(user.get('exec')) ? await pluginPart(user, cluster, choice) : userPart(user, choice.directory)),
    ...(await impersonationPart(user)),
    namespace: choice.namespace ?? contextNamespace ?? choice.defaultNamespace ?? 'default',
  };
}

function clusterPart(
  cluster: Field,
  { directory, environment = {} }: AccessOptions,
): Pick<Access, 'server' | 'ca' | 'tlsServerName' | 'proxy'> {
  const ca = dataOrFile(cluster, 'certificate-authority', directory);
  const tlsServerName = optionalString(cluster.get('tls-server-name'));
  const server = serverUrl(cluster.get('server'));
  const proxy = optionalString(cluster.get('proxy-url')) ?? environmentProxy(server, environment);
  const problem = proxy === undefined ? undefined : proxyProblem(proxy);
  if (problem !== undefined) throw cluster.get('proxy-url').error(`(or HTTPS_PROXY) ${problem}`);
  return {
    server,
    ...(ca !== undefined && { ca }),
    ...(tlsServerName !== undefined && { tlsServerName }),
    ...(proxy !== undefined && { proxy }),
  };
}

/**
 * Rejects other credentials beside a plugin, as client-go does: whether they were used would depend on the
 * plugin's output.
 */
async function pluginPart(
  user: Field,
  cluster: Field,
  { directory, environment = {}, clock = systemClock }: AccessOptions,
): Promise<Pick<Access, 'credentials'>> {
  const other = ['token', 'tokenFile', 'client-certificate', 'client-certificate-data'].find((name) =>
    isSet(user.get(name)),
  );
  if (other !== undefined) throw user.error(`has both exec and ${other}; give one of them`);
  const { parseExecPlugin, pluginCredentials } = await import('./exec-plugin.ts');
  const plugin = parseExecPlugin(user.get('exec'), cluster, directory);
  return { credentials: pluginCredentials(plugin, { environment, clock }) };
}

function userPart(
  user: Field,
  directory: string | undefined,
): Pick<Access, 'certificate' | 'key' | 'token' | 'tokenFile'> {
  const certificate = dataOrFile(user, 'client-certificate', directory);
  const key = dataOrFile(user, 'client-key', directory);
  if ((certificate === undefined) !== (key === undefined)) {
    throw user.error('has only one of client-certificate and client-key; it needs both');
  }
  const token = optionalString(user.get('token'));
  const tokenFile = optionalString(user.get('tokenFile'));
  if (certificate === undefined && token === undefined && tokenFile === undefined) {
    throw user.error('has no token, tokenFile or client-certificate');
  }
  return {
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && {
      tokenFile: absolutePath(tokenFile, user.get('tokenFile'), directory),
    }),
  };
}

/** Loads the impersonation module only for a user that impersonates another. */
async function impersonationPart(user: Field): Promise<Pick<Access, 'impersonation'>> {
  if (!impersonationKeys.some((name) => isSet(user.get(name)))) return {};
  const { impersonationHeaders } = await import('./impersonation.ts');
  return { impersonation: impersonationHeaders(user) };
}

function serverUrl(field: Field): string {
  const value = optionalString(field);
  if (value === undefined) throw field.error('is missing');
  if (!URL.canParse(value)) throw field.error('is not a URL');
  const url = new URL(value);
  if (url.protocol !== 'https:') throw field.error(httpsRequired);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw field.error('must have host, port and path only');
  let text = url.origin + url.pathname;
  while (text.endsWith('/')) text = text.slice(0, -1);
  return text;
}

/**
 * Returns `<name>-data` decoded from base64, else the content of the file that `<name>` names. The data wins,
 * as in client-go.
 */
function dataOrFile(entry: Field, name: string, directory: string | undefined): string | undefined {
  const data = optionalString(entry.get(`${name}-data`));
  const path = optionalString(entry.get(name));
  const field = entry.get(data === undefined ? name : `${name}-data`);
  const text =
    data === undefined
      ? path && readReference(absolutePath(path, field, directory), field)
      : decodeBase64(data, field);
  if (text === undefined) return undefined;
  const problem = pemProblem(text, name === 'client-key' ? 'key' : 'certificate');
  if (problem !== undefined) throw field.error(problem);
  return text;
}

function decodeBase64(data: string, field: Field): string {
  try {
    return atob(data);
  } catch (error) {
    if (error instanceof DOMException) throw field.error('is not base64');
    throw error;
  }
}

function readReference(path: string, field: Field): string {
  try {
    return readTextFile(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw field.error(`names a file that cannot be read (${code})`);
  }
}

function absolutePath(path: string, field: Field, directory: string | undefined): string {
  if (path.startsWith('/')) return path;
  if (directory === undefined)
    throw field.error('must be an absolute path, since the kubeconfig is not a file');
  return process.getBuiltinModule('node:path').resolve(directory, path);
}

/** Returns the context with this name, by default the current one. */
function pickContext({ contexts, currentContext }: Kubeconfig, name: string | undefined): Field {
  if (name === undefined) return pick(contexts, 'contexts', currentContext);
  const found = contexts.find((one) => one.name === name);
  if (found !== undefined) return found.fields;
  const names = contexts.map((one) => JSON.stringify(one.name)).join(', ');
  throw new ProductError(
    'INVALID_CONFIG',
    `kubeconfig: there is no context ${JSON.stringify(name)}; name one of its contexts: ${names === '' ? 'it has none' : names}`,
  );
}

/** Returns the entry of a list that `reference` names. */
function pick(list: readonly NamedEntry[], listKey: string, reference: Field): Field {
  const name = optionalString(reference);
  if (name === undefined) throw reference.error('is missing');
  const entry = list.find((one) => one.name === name);
  if (entry === undefined) throw reference.error(`names ${JSON.stringify(name)}, which is not in ${listKey}`);
  return entry.fields;
}

function rejectKeys(entry: Field, refused: Readonly<Record<string, string>>): void {
  for (const [name, reason] of Object.entries(refused))
    if (isSet(entry.get(name))) throw entry.get(name).error(reason);
}

function isSet({ value }: Field): boolean {
  return value !== undefined && value !== false && value !== '';
}

/**
 * Reads an Access from a kubeconfig (object, JSON text or YAML text). Loads a YAML parser only for YAML text.
 */
export async function loadAccess(source: unknown, choice: AccessOptions = {}): Promise<Access> {
  return resolveAccess(await readKubeconfig(source), choice);
}

/** Returns the name of the kubeconfig's current context. Rejects as `loadAccess` does. */
export async function currentContextOf(source: unknown): Promise<string | undefined> {
  return optionalString((await readKubeconfig(source)).currentContext);
}

async function readKubeconfig(source: unknown): Promise<Kubeconfig> {
  if (typeof source !== 'string' || isJsonText(source)) return parseKubeconfig(source);
  const { parseKubeconfigYaml } = await import('./kubeconfig-yaml.ts');
  return parseKubeconfigYaml(source);
}
