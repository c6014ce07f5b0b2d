import type { Clock } from './clock.ts';
import { transportFailure } from './transport-failure.ts';
import type { Transport } from './transport.ts';

/** A server that was ready that short a time ago has not been started since. */
const validMs = 1000;

/** `forbidden`: it does not say. */
export type ReadinessState = 'ready' | 'starting' | 'forbidden';

/**
 * What an API server says of itself. One that has just started refuses everybody (403) until it has read the roles, and
 * `/readyz` too, which the role system:public-info-viewer gives to all whom it knows; from then on `/readyz` fails until all
 * is read (kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, staging/src/k8s.io/apiserver/pkg/server/healthz.go).
 */
export class ApiReadiness {
  readonly #transport: Transport;
  readonly #clock: Clock;
  #readyAt: number | undefined;
  #isForbidden = false;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** True where a 403 to what was sent at that time counts: the server had said before that it is ready, or never says. */
  wasReady(sentAt: number): boolean {
    const age = this.#readyAt === undefined ? -1 : sentAt - this.#readyAt;
    return this.#isForbidden || (age >= 0 && age < validMs);
  }

  /** Whoever was told `forbidden` for long enough: the roles of this cluster do not let us ask. */
  giveUp(): void {
    this.#isForbidden = true;
  }

  /** Asks. What is no clear answer counts as ready, so that a 403 stays one. */
  async look(): Promise<ReadinessState> {
    const state = await this.#ask();
    this.#readyAt = state === 'ready' ? this.#clock.now() : undefined;
    return state;
  }

  async #ask(): Promise<ReadinessState> {
    try {
      const { status } = await this.#transport.request({ method: 'GET', path: '/readyz' });
      if (status >= 500) return 'starting';
      return status === 403 ? 'forbidden' : 'ready';
    } catch (error) {
      if (transportFailure(error) === undefined) throw error;
      return 'ready';
    }
  }
}
