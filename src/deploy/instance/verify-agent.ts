import type { AgentClient } from '../../bosh/agent-client/agent-client.ts';
import { isSameAddress } from '../../bosh/manifest/ip-range.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { lostMbusHost } from '../../bosh/manifest/manifest-warnings.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { poll } from '../../platform/poll.ts';
import type { AgentRun, Run } from '../session.ts';

export interface ExpectedAgent {
  readonly vmCid: string;
  readonly agentId: string;
  /** URL with credentials, which no error shows. */
  readonly mbus: string;
}

/** A proxy or a Service in front of the agent may lead to the previous VM for a moment. In milliseconds. */
const agentSwitchTimeoutMs = 30_000;

/**
 * Verifies that the responding agent belongs to the new VM before it receives disks and jobs. The error
 * OTHER_AGENT names both agents. The bosh CLI does not check this and deploys to any VM at the address. An
 * agent that does not report an id passes.
 */
export async function waitForExpectedAgent(run: AgentRun, expected: ExpectedAgent): Promise<void> {
  const other = await remainingOtherAgent(run, expected.agentId);
  if (other !== undefined) throw otherAgentError(other, expected, '');
}

/**
 * Verifies that the responding agent belongs to the recorded VM, before anything is changed: its jobs would
 * be stopped through that agent. Passes if no agent id is recorded (also if the bosh CLI recorded the VM) or
 * if no agent responds to these credentials. A broken VM must stay replaceable.
 */
export async function assertAgentMatches(run: AgentRun, mbus: string): Promise<void> {
  const { current_vm_cid: vmCid, current_agent_id: agentId } = run.state.state;
  if (vmCid === '' || agentId === undefined) return;
  // The ping comes first because it has a shorter timeout on a frozen machine.
  const question = run.agent.ping().then(() => remainingOtherAgent(run, agentId));
  const other = await undefinedIfUnreachable(question);
  if (other !== undefined) throw otherAgentError(other, { vmCid, agentId, mbus }, ' and nothing was changed');
}

/**
 * Returns the id of the responding agent if it reports another id than the recorded one. Sends one request.
 */
export async function findForeignAgentId({ agent, state }: AgentRun): Promise<string | undefined> {
  return readAgentId(agent, state.state.current_agent_id);
}

/** Returns false if the agent reports no id or if no agent id is recorded. */
export const isDifferentAgent = (
  agentId: string | undefined,
  expected: string | undefined,
): agentId is string => agentId !== undefined && expected !== undefined && agentId !== expected;

async function readAgentId(agent: AgentClient, expected: string | undefined): Promise<string | undefined> {
  const agentId = (await undefinedIfAgentError(agent.getState()))?.agentId;
  return isDifferentAgent(agentId, expected) ? agentId : undefined;
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
      `sent no request${more}. Set cloud_provider.mbus to the instance's own address, or free that address`,
  );
}

/**
 * Returns undefined on an AGENT_ERROR: an agent may not have a state yet. bosh does not request the state at
 * this point.
 */
async function undefinedIfAgentError<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (isProductError(error, 'AGENT_ERROR')) return undefined;
    throw error;
  }
}

/**
 * Returns undefined if the agent cannot be reached. This includes an agent that rejects the certificate or
 * password, because these may have changed in the manifest.
 */
async function undefinedIfUnreachable<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return undefined;
  }
}

/**
 * Throws MANIFEST_INVALID if the instance would move away from the address of its mbus. The current agent at
 * the mbus address reports that address as its own, so no proxy or NAT is in between, and the new VM's agent
 * would never be reachable. The healthy VM is kept; bosh deletes it and then waits ten minutes. An mbus host
 * that merely differs from the static IPs is valid, as in bosh: a proxy or NAT may be in front of the VM.
 */
export async function assertAgentReachableAfterMove(
  { agent, state }: Run,
  manifest: Manifest,
): Promise<void> {
  const lost = lostMbusHost(manifest);
  if (state.state.current_vm_cid === '' || lost === undefined) return;
  let addresses: readonly (string | undefined)[];
  try {
    await agent.ping();
    addresses = Object.values((await agent.getState()).addresses);
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return;
  }
  const { host, staticIps } = lost;
  if (!addresses.some((address) => address !== undefined && isSameAddress(address, host))) return;
  throw new ProductError(
    'MANIFEST_INVALID',
    `${manifest.cloudProvider.mbusAt}: '${host}' is the address of the VM whose agent responds there, but the instance gets ` +
      `${staticIps.map((ip) => `'${ip}'`).join(', ')}: its agent could not be reached. Nothing was changed; ` +
      'use the same address for both',
  );
}
