import type { Clock } from './clock.ts';
import { transportFailure } from './transport-failure.ts';
import type { Transport } from './transport.ts';

/** A server that was ready that short a time ago has not been started since. */
const validMs = 1000;

/**
 * What an API server says of itself. One that has just started refuses everybody (403) until it has read the roles;
 * `/readyz` needs no right and fails as long (kubernetes: staging/src/k8s.io/apiserver pkg/server/healthz.go, informer-sync).
 */
export class Readiness {
  readonly #transport: Transport;
  readonly #clock: Clock;
  #readyAt: number | undefined;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** True where what was sent at that time met a server that had said before that it is ready. */
  wasKnown(sentAt: number): boolean {
    const age = this.#readyAt === undefined ? -1 : sentAt - this.#readyAt;
    return age >= 0 && age < validMs;
  }

  /** Asks. Anything else than a clear no counts as ready, so that a 403 stays one. */
  async look(): Promise<boolean> {
    const isReady = await this.#ask();
    this.#readyAt = isReady ? this.#clock.now() : undefined;
    return isReady;
  }

  async #ask(): Promise<boolean> {
    try {
      return (await this.#transport.request({ method: 'GET', path: '/readyz' })).status < 500;
    } catch (error) {
      if (transportFailure(error) === undefined) throw error;
      return true;
    }
  }
}
