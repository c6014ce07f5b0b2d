import type { AgentClient } from './agent-client.ts';

export interface AgentClock {
  /** Resolves after that many milliseconds, or at once when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface AgentClientOptions {
  /** `https://user:password@host:port`. */
  readonly mbusUrl: string;
  /** PEM of the CA that signed the agent's certificate; absent: the system's roots. */
  readonly ca?: string | undefined;
  /** `reply_to` of every request. */
  readonly directorId: string;
  readonly clock: AgentClock;
  /** Default crypto.randomUUID; names the blobs that putBlob makes. */
  readonly uuid?: () => string;
  /** Ends every wait. */
  readonly signal?: AbortSignal | undefined;
}

/** A client of one agent. INVALID_ARGUMENT when the URL is none; no connection is made yet. */
export function createAgentClient(options: AgentClientOptions): AgentClient {
  throw new Error(`createAgentClient is not written yet (${options.directorId})`);
}
