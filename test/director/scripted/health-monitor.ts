import { until } from '../../support/until.ts';
import type { TestNatsServer } from '../../../src/agent/testing/nats-server.ts';

type Subscription = Awaited<ReturnType<TestNatsServer['listen']>>;

/** The health monitor's view: which agents have sent heartbeats. */
export class HealthMonitor {
  readonly #subscription: Subscription;

  private constructor(subscription: Subscription) {
    this.#subscription = subscription;
  }

  static async connect(server: TestNatsServer): Promise<HealthMonitor> {
    return new HealthMonitor(await server.listen('hm.agent.heartbeat.*'));
  }

  /** Waits until the agent has sent a heartbeat. */
  async hear(agentId: string): Promise<void> {
    await until(`a heartbeat of ${agentId}`, async () => this.#from(agentId, 0) > 0);
  }

  /**
   * Waits until the other agent has sent two more heartbeats, between which an interval lies in which every
   * agent that runs sends one. Throws if the first agent has sent one.
   */
  async hearOnly(other: string, silent: string): Promise<void> {
    const begin = this.#subscription.received.length;
    await until(`two heartbeats of ${other}`, async () => this.#from(other, begin) >= 2);
    const count = this.#from(silent, begin);
    if (count > 0) throw new Error(`${silent} has sent ${count} heartbeats`);
  }

  close(): Promise<void> {
    return this.#subscription.close();
  }

  #from(agentId: string, begin: number): number {
    const heard = this.#subscription.received.slice(begin);
    return heard.filter(([subject]) => subject.endsWith(`.${agentId}`)).length;
  }
}
