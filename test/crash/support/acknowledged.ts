import assert from 'node:assert/strict';
import { isProductError } from '../../../src/errors/product-error.ts';
import type { KubernetesObject, ObjectList } from '../../../src/kubernetes/object.ts';
import type { Transport, TransportRequest } from '../../../src/kubernetes/client/transport.ts';
import type { Random } from './random.ts';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

/** `undefined`: the object does not exist. */
type State = string | undefined;

interface Write {
  readonly method: TransportRequest['method'];
  readonly outcome: State;
}

const collection = '/api/v1/namespaces/bosh/configmaps';

/** Records what a server has acknowledged for ConfigMaps. Each has only one writer, so its state is known. */
export class Acknowledged {
  readonly #states = new Map<string, State>();
  /** The writes without a response. */
  readonly #open = new Map<string, State>();
  readonly #random: Random;
  #numbers = 0;
  writes = 0;
  /** How many writes without a response were done all the same. */
  unanswered = 0;
  doneUnanswered = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * Writes to one object after the other until the server is dead. Calls `onAcknowledged` after each
   * response.
   */
  async write(transport: Transport, names: readonly string[], onAcknowledged: () => void): Promise<void> {
    for (let n = 0; ; n += 1) {
      const name = names[n % names.length] ?? '';
      const write = this.#next(name);
      this.#open.set(name, write.outcome);
      try {
        const { status, body } = await transport.request(requestOf(name, write));
        assert([200, 201].includes(status), `${write.method} ${name}: ${status} ${body}`);
      } catch (error) {
        if (isProductError(error, 'KUBERNETES_UNREACHABLE')) return;
        throw error;
      }
      this.#open.delete(name);
      this.#states.set(name, write.outcome);
      this.writes += 1;
      onAcknowledged();
    }
  }

  /** Compares the server's objects with everything that was acknowledged. */
  async check(transport: Transport): Promise<void> {
    const { status, body } = await transport.request({ method: 'GET', path: collection });
    assert.equal(status, 200, body);
    const { items } = JSON.parse(body) as ObjectList<ConfigMap>;
    const found = new Map(items.map(({ metadata, data }) => [metadata.name, data?.['state']]));
    for (const [name, outcome] of this.#open) {
      this.unanswered += 1;
      if (found.get(name) !== outcome) continue;
      this.doneUnanswered += 1;
      this.#states.set(name, outcome);
    }
    this.#open.clear();
    const there = [...this.#states].filter(([, state]) => state !== undefined);
    assert.deepEqual(found, new Map(there));
  }

  #next(name: string): Write {
    this.#numbers += 1;
    if (this.#states.get(name) === undefined) return { method: 'POST', outcome: this.#content() };
    if (this.#random.once(4)) return { method: 'DELETE', outcome: undefined };
    return { method: 'PATCH', outcome: this.#content() };
  }

  /** Returns a text long enough for the journal to be rewritten now and then. */
  #content(): string {
    return `${this.#numbers} ${'x'.repeat(this.#random.below(40_000))}`;
  }
}

function requestOf(name: string, { method, outcome }: Write): TransportRequest {
  const body = JSON.stringify({ metadata: { name }, data: { state: outcome } });
  switch (method) {
    case 'POST':
      return { method, path: collection, body, contentType: 'application/json' };
    case 'PATCH':
      return { method, path: `${collection}/${name}`, body, contentType: 'application/merge-patch+json' };
    default:
      return { method, path: `${collection}/${name}` };
  }
}
