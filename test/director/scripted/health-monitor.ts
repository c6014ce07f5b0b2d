import { until } from '../../support/until.ts';
import type { TestNatsServer } from '../../../src/agent/testing/nats-server.ts';

/** The health monitor's view: which agents have sent heartbeats. */
export class HealthMonitor {
  readonly #heard: readonly (readonly [subject: string, body: Record<string, unknown>])[];
  readonly close: () => Promise<void>;

  private constructor({ received, close }: Awaited<ReturnType<TestNatsServer['listen']>>) {
    this.#heard = received;
    this.close = close;
  }

  static async connect(server: TestNatsServer): Promise<HealthMonitor> {
    return new HealthMonitor(await server.listen('hm.agent.heartbeat.*'));
  }

  /** Waits until the agent has sent a heartbeat. */
  async hear(agentId: string): Promise<void> {
    await until(`a heartbeat of ${agentId}`, async () => this.#from(agentId, 0) > 0);
  }

  /**
   * Waits until the other agent has sent two more heartbeats, between which an interval lies in which every agent
   * that runs sends one. Throws if the first agent has sent one.
   */
  async hearOnly(other: string, silent: string): Promise<void> {
    const begin = this.#heard.length;
    await until(`two heartbeats of ${other}`, async () => this.#from(other, begin) >= 2);
    const count = this.#from(silent, begin);
    if (count > 0) throw new Error(`${silent} has sent ${count} heartbeats`);
  }

  #from(agentId: string, begin: number): number {
    return this.#heard.slice(begin).filter(([subject]) => subject.endsWith(`.${agentId}`)).length;
  }
}
