import { resolve } from 'node:path';
import { createAgentClient } from '../../bosh/agent-client/create-agent-client.ts';
import { networkInterfaces } from '../../bosh/manifest/read-networks.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { isProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { poll } from '../../platform/poll.ts';
import { readState } from '../state/state-file.ts';
import { instanceAddress } from './apply-spec.ts';
import { isDifferentAgent } from './verify-agent.ts';

export interface InstanceState {
  /** `running` or another state of the agent; `unresponsive agent` if it does not respond. */
  readonly state: string;
  readonly address: string | undefined;
}

export interface InstanceStateOptions {
  readonly manifest: Manifest;
  readonly statePath: string;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to poll until a state is final. After that the last state is returned. */
  readonly budget: number;
  /** The default is that `running` and `stopped` are final. */
  readonly isFinal?: (state: string) => boolean;
}

/**
 * Reads the state of a deployed instance from its agent. An agent of another VM at the instance's address
 * counts as no agent. Changes nothing.
 */
export async function readInstanceState(options: InstanceStateOptions): Promise<InstanceState> {
  const { manifest, clock, signal, budget, isFinal = isSettled } = options;
  const { mbus, ca } = manifest.cloudProvider;
  const deadline = AbortSignal.timeout(budget);
  const recorded = await readState(resolve(options.statePath));
  const agent = createAgentClient({
    mbusUrl: mbus,
    ca,
    directorId: recorded?.director_id ?? '',
    clock,
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
  });
  const networks = networkInterfaces(manifest);
  let last: InstanceState = { state: 'unresponsive agent', address: instanceAddress(networks, {}) };
  const ask = async (): Promise<InstanceState | undefined> => {
    try {
      const { jobState, addresses, agentId } = await agent.getState();
      if (isDifferentAgent(agentId, recorded?.current_agent_id)) return undefined;
      last = { state: jobState, address: instanceAddress(networks, addresses) };
      return isFinal(jobState) ? last : undefined;
    } catch (error) {
      if (!isProductError(error)) throw error;
      return undefined;
    }
  };
  return (await poll(ask, { clock, signal, timeoutMs: budget, maxDelayMs: 500 })) ?? last;
}

const isSettled = (state: string): boolean => state === 'running' || state === 'stopped';
