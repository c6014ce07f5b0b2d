import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { CpiClient } from '../cpi/cpi-client.ts';
import { poll } from '../../platform/poll.ts';
import type { AgentRun, Run } from '../session.ts';
import { explainUnreachable } from './explain-failure.ts';

/**
 * Timeouts in milliseconds for the agent of a new VM and of an existing VM (bosh-cli deployment/instance).
 */
export const newAgentBudget = 600_000;
export const oldAgentBudget = 10_000;

/** Milliseconds: the time before the first explanation, and the minimum between two questions to the CPI. */
const quietMs = 5000;
const cpiPollMs = 10_000;

/**
 * Pings until the agent responds. Rejects with AGENT_UNREACHABLE and the cause after the timeout, and with
 * any other error, such as a rejected certificate, at once. While the agent of `newVm` does not respond,
 * warns of the cause, and again when the cause has changed.
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

/**
 * Warns of what delays the VM's agent: the state of its pod if the CPI can describe it, otherwise the
 * connection error.
 */
function createProgressReporter(
  { clock, warn }: AgentRun,
  { cloud, vmCid }: Pick<Run, 'cloud'> & { readonly vmCid: string },
): (error: ProductError) => Promise<void> {
  const begun = clock.now();
  let lastRequestAt = -Infinity;
  let problem: string | undefined;
  let lastReported = '';
  return async (error) => {
    const now = clock.now();
    if (now - begun < quietMs) return;
    if (now - lastRequestAt >= cpiPollMs) {
      lastRequestAt = now;
      problem = await describe(cloud, vmCid);
    }
    const line = problem === undefined ? explainUnreachable(error) : `VM '${vmCid}': ${problem}`;
    if (line !== lastReported) warn(`waiting for the agent: ${line}`);
    lastReported = line;
  };
}

/**
 * If the CPI cannot describe the VM, returns the CPI's error as the description. The operator should know it,
 * and it must not end the wait.
 */
async function describe(cloud: CpiClient, vmCid: string): Promise<string | undefined> {
  try {
    return await cloud.describeVm(vmCid);
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return `the CPI cannot report its state: ${error.message}`;
  }
}
