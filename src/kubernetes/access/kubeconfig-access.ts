import {
  isJsonText,
  parseKubeconfig,
  type Kubeconfig,
  type NamedEntry,
  invalidKubeconfig,
  optionalString,
} from './kubeconfig.ts';
import { type Access, httpsRequired } from './access.ts';
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
  const context = pick(
    kubeconfig.contexts,
    choice.context ?? kubeconfig.currentContext,
    'current-context',
    'contexts',
  );
  const cluster = pickFrom(kubeconfig.clusters, context, 'cluster', 'clusters');
  const user = pickFrom(kubeconfig.users, context, 'user', 'users');
  rejectKeys(cluster, unsupportedClusterKeys);
  rejectKeys(user, unsupportedUserKeys);
  const contextNamespace = optionalString(context.fields, 'namespace', `${context.key}.namespace`);
  return {
    ...clusterPart(cluster, choice),
    ...(isSet(user.fields['exec'])
      ? await pluginPart(user, cluster, choice)
      : userPart(user, choice.directory)),
    ...(await impersonationPart(user)),
    namespace: choice.namespace ?? contextNamespace ?? choice.defaultNamespace ?? 'default',
  };
}

function clusterPart(
  cluster: NamedEntry,
  { directory, environment = {} }: AccessOptions,
): Pick<Access, 'server' | 'ca' | 'tlsServerName' | 'proxy'> {
  const ca = dataOrFile(cluster, 'certificate-authority', directory);
  const tlsServerName = field(cluster, 'tls-server-name');
  const server = serverUrl(cluster);
  const proxy = field(cluster, 'proxy-url') ?? environmentProxy(server, environment);
  const problem = proxy === undefined ? undefined : proxyProblem(proxy);
  if (problem !== undefined) throw invalidKubeconfig(`${cluster.key}.proxy-url (or HTTPS_PROXY)`, problem);
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
  user: NamedEntry,
  cluster: NamedEntry,
  { directory, environment = {}, clock = systemClock }: AccessOptions,
): Promise<Pick<Access, 'credentials'>> {
  const other = ['token', 'tokenFile', 'client-certificate', 'client-certificate-data'].find((name) =>
    isSet(user.fields[name]),
  );
  if (other !== undefined) throw invalidKubeconfig(user.key, `has both exec and ${other}; give one of them`);
  const { parseExecPlugin, pluginCredentials } = await import('./exec-plugin.ts');
  const plugin = parseExecPlugin(user, cluster, directory);
  return { credentials: pluginCredentials(plugin, { environment, clock }) };
}

function userPart(
  user: NamedEntry,
  directory: string | undefined,
): Pick<Access, 'certificate' | 'key' | 'token' | 'tokenFile'> {
  const certificate = dataOrFile(user, 'client-certificate', directory);
  const key = dataOrFile(user, 'client-key', directory);
  if ((certificate === undefined) !== (key === undefined)) {
    throw invalidKubeconfig(user.key, 'has only one of client-certificate and client-key; it needs both');
  }
  const token = field(user, 'token');
  const tokenFile = field(user, 'tokenFile');
  if (certificate === undefined && token === undefined && tokenFile === undefined) {
    throw invalidKubeconfig(user.key, 'has no token, tokenFile or client-certificate');
  }
  return {
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && {
      tokenFile: absolutePath(tokenFile, `${user.key}.tokenFile`, directory),
    }),
  };
}

/** Loads the impersonation module only for a user that impersonates another. */
async function impersonationPart(user: NamedEntry): Promise<Pick<Access, 'impersonation'>> {
  if (!impersonationKeys.some((name) => isSet(user.fields[name]))) return {};
  const { impersonationHeaders } = await import('./impersonation.ts');
  return { impersonation: impersonationHeaders(user) };
}

function serverUrl(cluster: NamedEntry): string {
  const key = `${cluster.key}.server`;
  const value = field(cluster, 'server');
  if (value === undefined) {
    throw invalidKubeconfig(key, 'is missing');
  }
  if (!URL.canParse(value)) {
    throw invalidKubeconfig(key, 'is not a URL');
  }
  const url = new URL(value);
  if (url.protocol !== 'https:') {
    throw invalidKubeconfig(key, httpsRequired);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalidKubeconfig(key, 'must hold host, port and path only');
  }
  let text = url.origin + url.pathname;
  while (text.endsWith('/')) text = text.slice(0, -1);
  return text;
}

/**
 * Returns `<name>-data` decoded from base64, else the content of the file that `<name>` names. The data wins,
 * as in client-go.
 */
function dataOrFile(entry: NamedEntry, name: string, directory: string | undefined): string | undefined {
  const data = field(entry, `${name}-data`);
  const path = field(entry, name);
  const key = data === undefined ? `${entry.key}.${name}` : `${entry.key}.${name}-data`;
  const text =
    data === undefined
      ? path && readReference(absolutePath(path, key, directory), key)
      : decodeBase64(data, key);
  if (text === undefined) return undefined;
  const problem = pemProblem(text, name === 'client-key' ? 'key' : 'certificate');
  if (problem !== undefined) throw invalidKubeconfig(key, problem);
  return text;
}

function decodeBase64(data: string, key: string): string {
  const text = pemOf(data);
  if (text === undefined) throw invalidKubeconfig(key, 'is not base64');
  return text;
}

/** Returns the decoded text; undefined if the text is not base64. */
function pemOf(base64: string): string | undefined {
  try {
    return atob(base64);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

function readReference(path: string, key: string): string {
  try {
    return readTextFile(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw invalidKubeconfig(key, `names a file that cannot be read (${code})`);
  }
}

function absolutePath(path: string, key: string, directory: string | undefined): string {
  if (path.startsWith('/')) {
    return path;
  }
  if (directory === undefined) {
    throw invalidKubeconfig(key, 'must be an absolute path, since the kubeconfig is not a file');
  }
  return process.getBuiltinModule('node:path').resolve(directory, path);
}

function pickFrom(
  list: readonly NamedEntry[],
  context: NamedEntry,
  name: string,
  listKey: string,
): NamedEntry {
  const key = `${context.key}.${name}`;
  return pick(list, optionalString(context.fields, name, key), key, listKey);
}

function pick(
  list: readonly NamedEntry[],
  name: string | undefined,
  key: string,
  listKey: string,
): NamedEntry {
  if (name === undefined) {
    throw invalidKubeconfig(key, 'is missing');
  }
  const entry = list.find((one) => one.name === name);
  if (entry === undefined)
    throw invalidKubeconfig(key, `names ${JSON.stringify(name)}, which is not in ${listKey}`);
  return entry;
}

function rejectKeys(entry: NamedEntry, refused: Readonly<Record<string, string>>): void {
  for (const [name, reason] of Object.entries(refused)) {
    if (isSet(entry.fields[name])) {
      throw invalidKubeconfig(`${entry.key}.${name}`, reason);
    }
  }
}

function field(entry: NamedEntry, name: string): string | undefined {
  return optionalString(entry.fields, name, `${entry.key}.${name}`);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}

/**
 * Reads an Access from a kubeconfig (object, JSON text or YAML text). Loads a YAML parser only for YAML text.
 */
export async function loadAccess(source: unknown, choice: AccessOptions = {}): Promise<Access> {
  if (typeof source === 'string' && !isJsonText(source)) {
    const { parseKubeconfigYaml } = await import('./kubeconfig-yaml.ts');
    return resolveAccess(parseKubeconfigYaml(source), choice);
  }
  return resolveAccess(parseKubeconfig(source), choice);
}
