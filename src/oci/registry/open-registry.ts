import type { RegistryCredentials } from './access/credentials.ts';
import { NodeTransport } from './http/node-transport.ts';
import { RegistryClient } from './registry-client.ts';

export interface OpenRegistryOptions {
  /** `https://host:port`, or http where that is allowed (registryUrlProblem). */
  readonly origin: string;
  readonly repository: string;
  readonly credentials: RegistryCredentials | undefined;
  /** PEM; absent: the roots that the runtime trusts. */
  readonly ca: string | undefined;
  /** Ends every exchange and wait. */
  readonly signal?: AbortSignal;
  /** NodeTransportOptions'. */
  readonly graceMs?: number;
  readonly clock: {
    now(): number;
    sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  };
}

/** Registries that store in the cloud hash a whole layer before they answer its last byte. */
const idleMs = 300_000;
/** For what is taken back at the end: somebody may be waiting at the terminal. */
const cleanupTimeoutMs = 10_000;

/**
 * A client of one repository; nothing is sent yet. The caller closes it. `signal` ends all but a piece that is on its way, which
 * has five seconds, and `requestForCleanup`, which then has ten.
 */
export function openRegistry(options: OpenRegistryOptions): RegistryClient {
  const parting = (): RegistryClient =>
    createClient({ ...options, signal: AbortSignal.timeout(cleanupTimeoutMs) }, undefined);
  return createClient(options, parting);
}

function createClient(
  options: OpenRegistryOptions,
  parting: (() => RegistryClient) | undefined,
): RegistryClient {
  const { origin, repository, credentials, ca, signal, graceMs, clock } = options;
  return new RegistryClient({
    ...{ origin, repository, credentials },
    ...(parting !== undefined && { parting }),
    transport: new NodeTransport({ ca, idleMs, signal, ...(graceMs !== undefined && { graceMs }) }),
    now: () => clock.now(),
    sleep: async (milliseconds) => {
      await clock.sleep(milliseconds, signal);
      signal?.throwIfAborted();
    },
    random: Math.random,
  });
}
