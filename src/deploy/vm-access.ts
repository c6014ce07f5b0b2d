import { resolve } from 'node:path';
import type { AgentClient } from '../bosh/agent-client/agent-client.ts';
import { createAgentClient } from '../bosh/agent-client/create-agent-client.ts';
import { loadManifest } from '../bosh/manifest/load-manifest.ts';
import { ProductError } from '../errors/product-error.ts';
import { isOther, otherAgent } from './instance/whose-agent.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { readState, statePathFor } from './state/state-file.ts';

export type VmAccessOptions = Omit<EnvOptions, 'workspace' | 'skipDrain'>;

/** The deployed VM of a manifest, as far as its agent is asked for something that changes no deployment. */
export interface VmAccess {
  /** Of the deployment. */
  readonly name: string;
  readonly vmCid: string;
  /** Without credentials. */
  readonly address: string;
  /** A client whose waits end with the signal. */
  client(signal?: AbortSignal): AgentClient;
}

/**
 * Finds the agent of the deployed VM: no lock is taken and nothing is printed. STATE_INVALID where no VM is recorded, else what
 * loadManifest and the agent's refusal throw, and OTHER_AGENT where another VM's agent answers.
 */
export async function openVm(
  options: VmAccessOptions,
  { clock, environment, uuid }: Pick<EnvPorts, 'clock' | 'environment' | 'uuid'>,
): Promise<VmAccess> {
  const manifestPath = resolve(options.manifestPath);
  const statePath = await statePathFor(manifestPath, options.statePath);
  const state = await readState(statePath);
  const vmCid = state?.current_vm_cid ?? '';
  if (state === undefined || vmCid === '') {
    const message = `Deployment state file '${statePath}' records no VM; create-env makes one, --state names another file`;
    throw new ProductError('STATE_INVALID', message);
  }
  const loaded = { ...options, path: manifestPath, now: () => clock.now(), environment };
  const { name, cloudProvider } = (await loadManifest(loaded)).manifest;
  const { mbus, ca } = cloudProvider;
  const { director_id: directorId, current_agent_id: agentId = '' } = state;
  const client = (signal?: AbortSignal): AgentClient =>
    createAgentClient({ mbusUrl: mbus, ca, directorId, clock, uuid, signal });
  const { agentId: answering } = await client(options.signal).getState();
  if (isOther(answering, state.current_agent_id)) throw otherAgent(answering, { vmCid, agentId, mbus }, '');
  return { name, vmCid, address: new URL(mbus).host, client };
}
