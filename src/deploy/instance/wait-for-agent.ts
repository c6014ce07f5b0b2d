import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { CpiClient } from '../cpi/cloud.ts';
import { poll } from '../poll.ts';
import type { AgentRun, Run } from '../run.ts';
import { explainUnreachable } from './explain-unreachable.ts';

/** How long a new VM's agent may take, and an old one's, in milliseconds (bosh-cli deployment/instance). */
export const newAgentBudget = 600_000;
export const oldAgentBudget = 10_000;

/** An agent that comes sooner needs no explanation; and how long the CPI is not asked again. Milliseconds. */
const quietMs = 5000;
const cpiPollMs = 10_000;

/**
 * Pings until the agent answers. AGENT_UNREACHABLE with the cause after the budget; any other error at once,
 * a refused certificate among them. While the agent of `newVm` does not answer, warns of the cause, and again
 * when that has changed.
 */
export async function waitForAgent(
  run: AgentRun,
  budget: number,
  newVm?: Pick<Run, 'cloud'> & { readonly vmCid: string },
): Promise<void> {
  const { agent, clock, signal } = run;
  let last: ProductError | undefined;
  const explain = newVm === undefined ? undefined : createProgressReporter(run, newVm);
  const attempt = async (): Promise<true | undefined> => {
    try {
      await agent.ping();
      return true;
    } catch (error) {
      if (!isProductError(error, 'AGENT_UNREACHABLE')) throw error;
      last = error;
      await explain?.(error);
      return undefined;
    }
  };
  if (await poll(attempt, { clock, signal, timeoutMs: budget, maxDelayMs: 500 })) return;
  const why = last === undefined ? '' : `: ${explainUnreachable(last)}`;
  throw new ProductError(
    'AGENT_UNREACHABLE',
    `The agent did not answer a ping within ${budget / 1000} s${why}`,
    {
      cause: last,
    },
  );
}

/** Warns of what keeps the VM's agent: its pod, where the CPI can tell, else the way to it. */
function createProgressReporter(
  { clock, warn }: AgentRun,
  { cloud, vmCid }: Pick<Run, 'cloud'> & { readonly vmCid: string },
): (error: ProductError) => Promise<void> {
  const begun = clock.now().getTime();
  let askedAt = -Infinity;
  let trouble: string | undefined;
  let said = '';
  return async (error) => {
    const now = clock.now().getTime();
    if (now - begun < quietMs) return;
    if (now - askedAt >= cpiPollMs) {
      askedAt = now;
      trouble = await describe(cloud, vmCid);
    }
    const line = trouble === undefined ? explainUnreachable(error) : `VM '${vmCid}': ${trouble}`;
    if (line !== said) warn(`waiting for the agent: ${line}`);
    said = line;
  };
}

/**
 * A CPI that cannot tell has its own trouble, which the operator should know, and which does not end the
 * wait.
 */
async function describe(cloud: CpiClient, vmCid: string): Promise<string | undefined> {
  try {
    return await cloud.describeVm(vmCid);
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return `the CPI cannot say how it is: ${error.message}`;
  }
}
