import type { Clock } from './clock.ts';
import { transportFailure } from './transport-failure.ts';
import type { Transport } from './transport.ts';

/** How long, in milliseconds, a "ready" response is trusted: the server has not been restarted since. */
const validMs = 1000;

/** `forbidden`: the roles do not allow reading /readyz. */
export type ReadinessState = 'ready' | 'starting' | 'forbidden';

/**
 * The readiness of an API server. A server that has just started refuses all requests with 403 until it has
 * read the roles. That includes `/readyz`, which the role system:public-info-viewer allows to all
 * authenticated users. From then on `/readyz` fails until everything is read (kubernetes:
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go,
 * staging/src/k8s.io/apiserver/pkg/server/healthz.go).
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

  /**
   * True if a 403 to a request of that time is final: the server had reported before that it is ready, or it
   * never reports readiness.
   */
  wasReady(sentAt: number): boolean {
    const age = this.#readyAt === undefined ? -1 : sentAt - this.#readyAt;
    return this.#isForbidden || (age >= 0 && age < validMs);
  }

  /**
   * Stops asking: the roles of this cluster do not allow reading /readyz. Called after `forbidden` for long
   * enough.
   */
  giveUp(): void {
    this.#isForbidden = true;
  }

  /** Reads `/readyz`. An unclear response counts as ready, so that a 403 stays final. */
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
