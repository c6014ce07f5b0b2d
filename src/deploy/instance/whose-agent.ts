import type { AgentClient } from '../../bosh/agent-client/agent-client.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { poll } from '../poll.ts';
import type { AgentRun } from '../run.ts';

export interface ExpectedAgent {
  readonly vmCid: string;
  readonly agentId: string;
  /** With credentials, which no error shows. */
  readonly mbus: string;
}

/** What leads to the agent, a proxy or a Service, may lead to a former VM for a moment; milliseconds. */
const agentSwitchTimeoutMs = 30_000;

/**
 * Makes sure that the agent that answers is the new VM's, before it is given disks and jobs: OTHER_AGENT names both. The bosh
 * CLI does not look, and deploys on whatever VM has the address. An agent that does not say whose it is passes.
 */
export async function waitForExpectedAgent(run: AgentRun, expected: ExpectedAgent): Promise<void> {
  const other = await remainingOtherAgent(run, expected.agentId);
  if (other !== undefined) throw otherAgentError(other, expected, '');
}

/**
 * The same for the recorded VM, before anything is changed: its jobs would be stopped through that agent. Passes where none is
 * recorded, the bosh CLI recorded it, or no agent answers with these credentials: a VM that is down has to be replaceable.
 */
export async function assertAgentMatches(run: AgentRun, mbus: string): Promise<void> {
  const { current_vm_cid: vmCid, current_agent_id: agentId } = run.state.state;
  if (vmCid === '' || agentId === undefined) return;
  // first a ping, which a frozen machine is given less time for
  const question = run.agent.ping().then(() => remainingOtherAgent(run, agentId));
  const other = await undefinedIfUnreachable(question);
  if (other !== undefined) throw otherAgentError(other, { vmCid, agentId, mbus }, ' and nothing was changed');
}

/** The id of the agent that answers, when it says that it is not the recorded VM's. Asks once. */
export async function findForeignAgentId({ agent, state }: AgentRun): Promise<string | undefined> {
  return readAgentId(agent, state.state.current_agent_id);
}

/** An agent that does not say whose it is, or a VM whose agent nobody recorded, is taken for the right one. */
export const isDifferentAgent = (said: string | undefined, expected: string | undefined): said is string =>
  said !== undefined && expected !== undefined && said !== expected;

async function readAgentId(agent: AgentClient, expected: string | undefined): Promise<string | undefined> {
  const said = (await undefinedIfAgentError(agent.getState()))?.agentId;
  return isDifferentAgent(said, expected) ? said : undefined;
}

async function remainingOtherAgent(
  { agent, clock, signal }: AgentRun,
  expected: string,
): Promise<string | undefined> {
  let other: string | undefined;
  const attempt = async (): Promise<true | undefined> => {
    other = await readAgentId(agent, expected);
    return other === undefined ? true : undefined;
  };
  await poll(attempt, { clock, signal, timeoutMs: agentSwitchTimeoutMs, maxDelayMs: 1000 });
  return other;
}

export function otherAgentError(
  other: string,
  { vmCid, agentId, mbus }: ExpectedAgent,
  more: string,
): ProductError {
  return new ProductError(
    'OTHER_AGENT',
    `At ${new URL(mbus).host} another VM's agent answers, '${other}', and not that of VM '${vmCid}', '${agentId}'; it was ` +
      `asked for nothing${more}. Let cloud_provider.mbus lead to the instance's own address, or free that address`,
  );
}

/** An agent may know no state yet; bosh does not ask for it here either. */
async function undefinedIfAgentError<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (isProductError(error, 'AGENT_ERROR')) return undefined;
    throw error;
  }
}

/** Also one that another certificate or password is refused by: those may have been changed in the manifest. */
async function undefinedIfUnreachable<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return undefined;
  }
}
