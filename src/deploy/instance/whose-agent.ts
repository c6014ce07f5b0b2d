import { ProductError, isProductError } from '../../errors/product-error.ts';
import { poll } from '../poll.ts';
import type { Run } from '../run.ts';

export interface ExpectedAgent {
  readonly vmCid: string;
  readonly agentId: string;
  /** With credentials, which no error shows. */
  readonly mbus: string;
}

/** What leads to the agent, a proxy or a Service, may lead to a former VM for a moment; milliseconds. */
const otherAgentBudget = 30_000;

/**
 * Makes sure that the agent that answers is the new VM's, before it is given disks and jobs: OTHER_AGENT names both. The bosh
 * CLI does not look, and deploys on whatever VM has the address. An agent that does not say whose it is passes.
 */
export async function checkWhoseAgent(run: Run, expected: ExpectedAgent): Promise<void> {
  const { agent, clock, signal } = run;
  let other = '';
  const attempt = async (): Promise<true | undefined> => {
    other = (await unlessRefused(agent.getState()))?.agentId ?? expected.agentId;
    return other === expected.agentId ? true : undefined;
  };
  if (await poll(attempt, { clock, signal, budget: otherAgentBudget, longestPause: 1000 })) return;
  const { vmCid, agentId, mbus } = expected;
  throw new ProductError(
    'OTHER_AGENT',
    `At ${new URL(mbus).host} another VM's agent answers, '${other}', and not that of VM '${vmCid}', '${agentId}'; it was ` +
      `asked for nothing. Let cloud_provider.mbus lead to the instance's own address, or free that address`,
  );
}

/** An agent may know no state yet; bosh does not ask for it here either. */
async function unlessRefused<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (isProductError(error, 'AGENT_ERROR')) return undefined;
    throw error;
  }
}
