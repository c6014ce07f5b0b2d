import { execFile } from 'node:child_process';
import { ProductError } from '../errors/product-error.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';
import { truncateAtWord } from '../errors/redact/whole-words.ts';

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
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const env = { ...environment, ...plugin.environment, KUBERNETES_EXEC_INFO: execInfo(plugin) };
  const options = {
    env,
    encoding: 'utf8',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: maximumBytes,
  } as const;
  const child = execFile(plugin.command, [...plugin.args], options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
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
  const words = [
    `kubeconfig: ${plugin.key}.command (${plugin.command}) ${causeOf(error)}`,
    ...(last === '' ? [] : [`it said: ${last}`]),
    plugin.installHint ?? 'run it by hand as the user of the CPI, and correct it or its arguments',
  ];
  return new ProductError('INVALID_CONFIG', words.join('; '));
}

function causeOf({ code, killed }: RunError): string {
  if (code === 'ENOENT') return 'is not there; give its absolute path, since a director leaves a short PATH';
  if (code === 'EACCES') return 'may not be run';
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${maximumBytes} bytes`;
  if (killed === true) return `did not end within ${timeoutMs / 1000} s`;
  return `failed with ${typeof code === 'number' ? `exit code ${code}` : (code ?? 'a signal')}`;
}
