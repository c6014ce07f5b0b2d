import { resolve } from 'node:path';
import type { AgentClient } from '../bosh/agent-client/agent-client.ts';
import { createAgentClient } from '../bosh/agent-client/create-agent-client.ts';
import type { Socks5Proxy } from '../bosh/agent-client/socks5-connect.ts';
import { loadManifest } from '../bosh/manifest/load-manifest.ts';
import { ProductError } from '../errors/product-error.ts';
import { isDifferentAgent, otherAgentError } from './instance/verify-agent.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import type { DeploymentState } from './state/deployment-state.ts';
import { readState } from './state/state-file.ts';

/** The address of a deployed VM's agent, and the credentials for it. */
export interface AgentEndpoint {
  /** The deployment's name. */
  readonly name: string;
  /** URL with user and password, so it is a secret. */
  readonly mbus: string;
  /** CA certificate in PEM. */
  readonly ca?: string | undefined;
}

export interface VmAccessOptions {
  readonly statePath: string;
  /** Called only after it is known that there is a VM. */
  readonly endpoint: () => Promise<AgentEndpoint>;
  readonly proxy: Socks5Proxy | undefined;
  readonly signal: AbortSignal;
}

/** Access to a deployed VM's agent for requests that do not change the deployment. */
export interface VmAccess {
  /** The deployment's name. */
  readonly name: string;
  readonly vmCid: string;
  /** Returns a client whose waits end when the signal is aborted. */
  client(signal: AbortSignal): AgentClient;
}

/**
 * Finds the agent of the VM that a state file records. Takes no lock and prints nothing. Rejects with
 * STATE_INVALID if no VM is recorded, and with OTHER_AGENT if another VM's agent responds.
 */
export async function openVm(
  { statePath, endpoint, proxy, signal }: VmAccessOptions,
  { clock, uuid }: Pick<EnvPorts, 'clock' | 'uuid'>,
): Promise<VmAccess> {
  const state = await readDeployedState(statePath);
  const { current_vm_cid: vmCid } = state;
  const { name, mbus, ca } = await endpoint();
  const { director_id: directorId, current_agent_id: agentId = '' } = state;
  const client = (until: AbortSignal): AgentClient =>
    createAgentClient({ mbusUrl: mbus, ca, directorId, clock, uuid, proxy, signal: until });
  const { agentId: answering } = await client(signal).getState();
  if (isDifferentAgent(answering, state.current_agent_id))
    throw otherAgentError(answering, { vmCid, agentId, mbus }, '');
  return { name, vmCid, client };
}

/** Reads a state file. Rejects with STATE_INVALID if it records no VM. */
export async function readDeployedState(statePath: string): Promise<DeploymentState> {
  const state = await readState(statePath);
  if (state !== undefined && state.current_vm_cid !== '') return state;
  const message = `Deployment state file '${statePath}' records no VM; create-env creates one, --state names another file`;
  throw new ProductError('STATE_INVALID', message);
}

/** Reads the agent's endpoint from a manifest. For errors see loadManifest. */
export async function manifestEndpoint(
  options: Pick<EnvOptions, 'manifestPath'> & Omit<Parameters<typeof loadManifest>[0], 'path'>,
): Promise<AgentEndpoint> {
  const { manifest } = await loadManifest({ ...options, path: resolve(options.manifestPath) });
  const { mbus, ca } = manifest.cloudProvider;
  return { name: manifest.name, mbus, ca };
}
