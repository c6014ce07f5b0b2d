import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Credentials, CredentialSource } from './access.ts';
import { pemProblem } from './pem.ts';
import { isAbsolute, resolve } from 'node:path';
import { Field } from '../../platform/field.ts';
import { tryParseJson } from '../../platform/json.ts';
import { optionalString } from './kubeconfig.ts';
import { execFile } from 'node:child_process';
import { truncateAtWord } from '../../errors/text.ts';

export interface PluginContext {
  /** The environment of the plugin's process; the variables of the plugin itself override it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

interface IssuedCredentials {
  readonly credentials: Credentials;
  /** Milliseconds since the epoch; undefined: valid as long as this process runs. */
  readonly expiresAt: number | undefined;
}

/**
 * The server rejects a token that expires during a request, so credentials are renewed this long before they
 * expire.
 */
const expiryMarginMs = 10_000;

/**
 * Returns the credentials of an exec plugin (client-go: plugin/pkg/client/auth/exec). The plugin runs when
 * the first request needs credentials, and again after they have expired or were rejected. Concurrent callers
 * share one run.
 */
export function pluginCredentials(
  plugin: ExecPlugin,
  { environment, clock }: PluginContext,
): CredentialSource {
  let issued: Promise<IssuedCredentials> | undefined;
  const all: Credentials[] = [];
  const issue = (): Promise<IssuedCredentials> => {
    const running = runPlugin(plugin, environment).then((output) => readIssued(plugin, output));
    issued = running;
    running.then(
      ({ credentials }) => void all.push(credentials),
      () => {
        if (issued === running) issued = undefined;
      },
    );
    return running;
  };
  return {
    current: async () => {
      const previous = issued;
      const present = await previous;
      if (present !== undefined && (present.expiresAt ?? Infinity) - expiryMarginMs > clock.now()) {
        return present.credentials;
      }
      return (await (issued === undefined || issued === previous ? issue() : issued)).credentials;
    },
    issued: async () => {
      // the caller of `current` gets the reason of a failed run
      await issued?.catch(() => undefined);
      return all;
    },
    refused: () => {
      issued = undefined;
    },
  };
}

/**
 * Parses the ExecCredential that a plugin printed. Errors never quote the output, because it contains the
 * credentials.
 */
function readIssued(plugin: ExecPlugin, output: string): IssuedCredentials {
  const printed = new Field(tryParseJson(output), '', (path, problem) => {
    const location = [...(path === '' ? [] : [path]), `the output of ${plugin.key}.command`].join(' in ');
    return new ProductError(
      'INVALID_CONFIG',
      `kubeconfig: ${location} ${problem}; correct the plugin, or name another one`,
    );
  });
  if (!printed.isPresent) throw printed.error('is not a JSON object');
  if (printed.get('kind').value !== 'ExecCredential' || printed.get('apiVersion').value !== plugin.apiVersion)
    throw printed.error(`is not an ExecCredential of ${plugin.apiVersion}`);
  const status = printed.get('status');
  const token = optionalString(status.get('token'));
  const certificate = optionalString(status.get('clientCertificateData'));
  const key = optionalString(status.get('clientKeyData'));
  if ((certificate === undefined) !== (key === undefined))
    throw status.error('has only one of clientCertificateData and clientKeyData');
  for (const [name, pemKind, pem] of [
    ['clientCertificateData', 'certificate', certificate],
    ['clientKeyData', 'key', key],
  ] as const) {
    const problem = pem && pemProblem(pem, pemKind);
    if (problem !== undefined) throw status.get(name).error(problem);
  }
  if (token === undefined && certificate === undefined) {
    throw status.error('has neither a token nor a client certificate');
  }
  return { credentials: { token, certificate, key }, expiresAt: readTime(status.get('expirationTimestamp')) };
}

function readTime(field: Field): number | undefined {
  const timestamp = optionalString(field);
  if (timestamp === undefined) return undefined;
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) throw field.error('is not a time');
  return time;
}

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
export function parseExecPlugin(exec: Field, cluster: Field, directory: string | undefined): ExecPlugin {
  const apiVersion = exec.get('apiVersion').oneOf(apiVersions);
  const interactiveMode = exec.get('interactiveMode');
  if (interactiveMode.value === 'Always') {
    throw interactiveMode.error('is Always, but this program has no terminal to ask at');
  }
  return {
    key: exec.path,
    apiVersion,
    command: commandPath(exec.get('command'), directory),
    args: exec
      .get('args')
      .list()
      .map((item) => item.string()),
    environment: Object.fromEntries(
      exec
        .get('env')
        .list()
        .map((variable) => [variable.get('name').string(), variable.get('value').optional()?.string() ?? '']),
    ),
    installHint: optionalString(exec.get('installHint')),
    cluster: exec.get('provideClusterInfo').value === true ? clusterInfo(cluster) : undefined,
  };
}

/**
 * Resolves the command as client-go does: a name without a slash is searched for in PATH, anything else is a
 * path.
 */
function commandPath(field: Field, directory: string | undefined): string {
  const command = optionalString(field);
  if (command === undefined) throw field.error('is missing');
  if (isAbsolute(command) || !command.includes('/')) return command;
  if (directory === undefined) {
    throw field.error('must be an absolute path or a bare name, since the kubeconfig is not a file');
  }
  return resolve(directory, command);
}

function clusterInfo(cluster: Field): object {
  const { extensions, ...known } = cluster.record();
  const extension = Array.isArray(extensions)
    ? (extensions as ({ name?: unknown; extension?: unknown } | null)[]).find(
        (one) => one?.name === extensionName,
      )
    : undefined;
  const environment = ['server', 'tls-server-name', 'certificate-authority-data', 'proxy-url'].filter(
    (name) => known[name] !== undefined && known[name] !== null,
  );
  return {
    ...Object.fromEntries(environment.map((name) => [name, known[name]])),
    ...(extension?.name === extensionName && { config: extension.extension }),
  };
}

const timeoutMs = 60_000;
const maximumBytes = 1024 * 1024;

/**
 * Runs an exec plugin once, without a shell and without stdin, and returns its stdout. Rejects with
 * INVALID_CONFIG, which has the failure, the last line of stderr, and the plugin's own hint.
 */
export function runPlugin(
  plugin: ExecPlugin,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { promise, resolve: succeed, reject } = Promise.withResolvers<string>();
  const env = { ...environment, ...plugin.environment, KUBERNETES_EXEC_INFO: execInfo(plugin) };
  const options = {
    env,
    encoding: 'utf8',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: maximumBytes,
  } as const;
  const child = execFile(plugin.command, [...plugin.args], options, (error, stdout, stderr) => {
    if (error === null) succeed(stdout);
    else reject(pluginFailure(plugin, error, stderr));
  });
  child.stdin?.end();
  return promise;
}

/** Returns the input for a plugin (client-go: pkg/apis/clientauthentication/v1 types.go). */
function execInfo({ apiVersion, cluster }: ExecPlugin): string {
  return JSON.stringify({
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(cluster !== undefined && { cluster }) },
  });
}

interface RunError extends Error {
  readonly code?: string | number | null | undefined;
  readonly killed?: boolean | undefined;
}

function pluginFailure(plugin: ExecPlugin, error: RunError, stderr: string): ProductError {
  const last = truncateAtWord(stderr.trim().split('\n').at(-1) ?? '', 200);
  const clauses = [
    `kubeconfig: ${plugin.key}.command (${plugin.command}) ${causeOf(error)}`,
    ...(last === '' ? [] : [`it said: ${last}`]),
    plugin.installHint ?? 'run it by hand as the user of the CPI, and correct it or its arguments',
  ];
  return new ProductError('INVALID_CONFIG', clauses.join('; '));
}

function causeOf({ code, killed }: RunError): string {
  if (code === 'ENOENT') return 'is not there; give its absolute path, since a director leaves a short PATH';
  if (code === 'EACCES') return 'may not be run';
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${maximumBytes} bytes`;
  if (killed === true) return `did not end within ${timeoutMs / 1000} s`;
  return `failed with ${typeof code === 'number' ? `exit code ${code}` : (code ?? 'a signal')}`;
}
