import { ProductError } from '../errors/product-error.ts';
import type { Clock } from './clock.ts';
import type { Credentials, CredentialSource } from './credentials.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';
import { pemProblem } from './pem.ts';
import { runPlugin } from './run-plugin.ts';

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
      const former = issued;
      const present = await former;
      if (present !== undefined && (present.expiresAt ?? Infinity) - expiryMarginMs > clock.now()) {
        return present.credentials;
      }
      return (await (issued === undefined || issued === former ? issue() : issued)).credentials;
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
  const { apiVersion, kind, status } = parseObject(plugin, output);
  if (kind !== 'ExecCredential' || apiVersion !== plugin.apiVersion) {
    throw invalidOutput(plugin, `is no ExecCredential of ${plugin.apiVersion}`);
  }
  if (!isObject(status)) throw invalidOutput(plugin, 'has no status');
  const text = (key: string): string | undefined => {
    const value = status[key] ?? undefined;
    if (value === undefined || typeof value === 'string') return value === '' ? undefined : value;
    throw invalidOutput(plugin, `has a status.${key} that is no string`);
  };
  const token = text('token');
  const certificate = text('clientCertificateData');
  const key = text('clientKeyData');
  if ((certificate === undefined) !== (key === undefined)) {
    throw invalidOutput(plugin, 'has only one of clientCertificateData and clientKeyData');
  }
  for (const [name, pemKind, pem] of [
    ['clientCertificateData', 'certificate', certificate],
    ['clientKeyData', 'key', key],
  ] as const) {
    const problem = pem && pemProblem(pem, pemKind);
    if (problem !== undefined) throw invalidOutput(plugin, `has a status.${name} that ${problem}`);
  }
  if (token === undefined && certificate === undefined) {
    throw invalidOutput(plugin, 'has neither a token nor a client certificate');
  }
  return { credentials: { token, certificate, key }, expiresAt: expiry(plugin, text('expirationTimestamp')) };
}

function expiry(plugin: ExecPlugin, timestamp: string | undefined): number | undefined {
  if (timestamp === undefined) return undefined;
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) throw invalidOutput(plugin, 'has an expirationTimestamp that is no time');
  return time;
}

function parseObject(plugin: ExecPlugin, output: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(output);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw invalidOutput(plugin, 'is no JSON object');
}

function invalidOutput(plugin: ExecPlugin, problem: string): ProductError {
  return new ProductError(
    'INVALID_CONFIG',
    `kubeconfig: what ${plugin.key}.command printed ${problem}; correct the plugin, or name another one`,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
