import { ProductError, isProductError } from '../../errors/product-error.ts';
import { poll } from '../poll.ts';
import type { Run } from '../run.ts';

/** How long a new VM's agent may take, and an old one's, in milliseconds (bosh-cli deployment/instance). */
export const newAgentBudget = 600_000;
export const oldAgentBudget = 10_000;

/** Pings until the agent answers. AGENT_UNREACHABLE after the budget; any other error at once, a refused certificate among them. */
export async function waitForAgent({ agent, clock, signal }: Run, budget: number): Promise<void> {
  let last: ProductError | undefined;
  const attempt = async (): Promise<true | undefined> => {
    try {
      await agent.ping();
      return true;
    } catch (error) {
      if (!isProductError(error, 'AGENT_UNREACHABLE')) throw error;
      last = error;
      return undefined;
    }
  };
  if (await poll(attempt, { clock, signal, budget, longestPause: 500 })) return;
  throw new ProductError('AGENT_UNREACHABLE', `The agent did not answer a ping within ${budget / 1000} s`, {
    cause: last,
  });
}
