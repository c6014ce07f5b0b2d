import { isAbsolute, resolve } from 'node:path';
import type { NamedEntry } from './kubeconfig.ts';
import { invalidKubeconfig, optionalString } from './kubeconfig.ts';

/** `users[].user.exec` of a kubeconfig (client-go: tools/clientcmd/api/v1 types.go, ExecConfig). */
export interface ExecPlugin {
  /** Its path in the kubeconfig, for errors. */
  readonly key: string;
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Overrides the environment of this process. Secret: may carry credentials. */
  readonly environment: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  /**
   * The cluster information for the plugin; undefined if the kubeconfig does not set `provideClusterInfo`.
   */
  readonly cluster: object | undefined;
}

const apiVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const extensionName = 'client.authentication.k8s.io/exec';

/**
 * Parses the exec plugin of a user. A relative path starts from the directory of the kubeconfig. Throws
 * INVALID_CONFIG.
 */
export function parseExecPlugin(
  user: NamedEntry,
  cluster: NamedEntry,
  directory: string | undefined,
): ExecPlugin {
  const key = `${user.key}.exec`;
  const exec = record(user.fields['exec'], key);
  const text = (name: string): string | undefined => optionalString(exec, name, `${key}.${name}`);
  const apiVersion = text('apiVersion') ?? '';
  if (!apiVersions.includes(apiVersion)) {
    throw invalidKubeconfig(`${key}.apiVersion`, `must be ${apiVersions.join(' or ')}`);
  }
  if (text('interactiveMode') === 'Always') {
    throw invalidKubeconfig(`${key}.interactiveMode`, 'is Always, but nobody can be asked here');
  }
  return {
    key,
    apiVersion,
    command: commandPath(text('command'), `${key}.command`, directory),
    args: list(exec['args'], `${key}.args`).map((item, index) => string(item, `${key}.args[${index}]`)),
    environment: Object.fromEntries(
      list(exec['env'], `${key}.env`).map((item, index) => {
        const place = `${key}.env[${index}]`;
        const variable = record(item, place);
        return [string(variable['name'], `${place}.name`), string(variable['value'] ?? '', `${place}.value`)];
      }),
    ),
    installHint: text('installHint'),
    cluster: exec['provideClusterInfo'] === true ? clusterInfo(cluster) : undefined,
  };
}

/**
 * Resolves the command as client-go does: a name without a slash is searched for in PATH, anything else is a
 * path.
 */
function commandPath(command: string | undefined, key: string, directory: string | undefined): string {
  if (command === undefined) throw invalidKubeconfig(key, 'is missing');
  if (isAbsolute(command) || !command.includes('/')) return command;
  if (directory === undefined) {
    throw invalidKubeconfig(
      key,
      'must be an absolute path or a bare name, since the kubeconfig is not a file',
    );
  }
  return resolve(directory, command);
}

function clusterInfo({ fields }: NamedEntry): object {
  const { extensions, ...known } = fields;
  const extension = Array.isArray(extensions)
    ? (extensions as { name?: unknown; extension?: unknown }[]).find(({ name }) => name === extensionName)
    : undefined;
  const environment = ['server', 'tls-server-name', 'certificate-authority-data', 'proxy-url'].filter(
    (name) => known[name] !== undefined && known[name] !== null,
  );
  return {
    ...Object.fromEntries(environment.map((name) => [name, known[name]])),
    ...(extension !== undefined && { config: extension.extension }),
  };
}

function list(value: unknown, key: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidKubeconfig(key, 'must be a list');
  return value;
}

function string(value: unknown, key: string): string {
  if (typeof value !== 'string') throw invalidKubeconfig(key, 'must be a string');
  return value;
}

function record(value: unknown, key: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidKubeconfig(key, 'must be a mapping');
  }
  return value as Record<string, unknown>;
}
