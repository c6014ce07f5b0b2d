import type { RegistryCredentials } from './access/authenticator.ts';
import { NodeTransport } from './http/node-transport.ts';
import { RegistryClient } from './registry-client.ts';

export interface OpenRegistryOptions {
  /** `https://host:port`, or http if it is allowed (registryUrlProblem). */
  readonly origin: string;
  readonly repository: string;
  readonly credentials: RegistryCredentials | undefined;
  /** PEM; absent: the root certificates that the runtime trusts. */
  readonly ca: string | undefined;
  /** An abort ends every request and every wait. */
  readonly signal?: AbortSignal;
  /** See NodeTransportOptions. */
  readonly graceMs?: number;
  readonly clock: {
    now(): number;
    sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  };
}

/** Registries that store in the cloud hash a whole layer before they respond to its last byte. */
const idleMs = 300_000;
/** The timeout of cleanup requests at the end: an operator may be waiting at the terminal. */
const cleanupTimeoutMs = 10_000;

/**
 * Creates a client of one repository. Sends nothing yet. The caller must close it. `signal` ends all requests
 * at once, except a chunk that is being sent, which has five more seconds, and `requestForCleanup`, which has
 * ten.
 */
export function openRegistry(options: OpenRegistryOptions): RegistryClient {
  const cleanupClient = (): RegistryClient =>
    createClient({ ...options, signal: AbortSignal.timeout(cleanupTimeoutMs) }, undefined);
  return createClient(options, cleanupClient);
}

function createClient(
  options: OpenRegistryOptions,
  cleanupClient: (() => RegistryClient) | undefined,
): RegistryClient {
  const { origin, repository, credentials, ca, signal, graceMs, clock } = options;
  return new RegistryClient({
    ...{ origin, repository, credentials },
    ...(cleanupClient !== undefined && { cleanupClient }),
    transport: new NodeTransport({ ca, idleMs, signal, ...(graceMs !== undefined && { graceMs }) }),
    now: () => clock.now(),
    sleep: async (milliseconds) => {
      await clock.sleep(milliseconds, signal);
      signal?.throwIfAborted();
    },
    random: Math.random,
  });
}
