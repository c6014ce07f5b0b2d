import { resolve } from 'node:path';
import type { AgentClient } from '../bosh/agent-client/agent-client.ts';
import { createAgentClient } from '../bosh/agent-client/create-agent-client.ts';
import type { Socks5Proxy } from '../bosh/agent-client/socks5-connect.ts';
import { loadManifest } from '../bosh/manifest/load-manifest.ts';
import { ProductError } from '../errors/product-error.ts';
import { isDifferentAgent, otherAgentError } from './instance/whose-agent.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { readState } from './state/state-file.ts';

/** Where the agent of a deployed VM is, and who may call it. */
export interface AgentEndpoint {
  /** Of the deployment. */
  readonly name: string;
  /** With user and password: a secret. */
  readonly mbus: string;
  /** PEM. */
  readonly ca?: string | undefined;
}

export interface VmAccessOptions {
  readonly statePath: string;
  /** Asked for once it is known that there is a VM. */
  readonly endpoint: () => Promise<AgentEndpoint>;
  readonly proxy: Socks5Proxy | undefined;
  readonly signal: AbortSignal;
}

/** A deployed VM, as far as its agent is asked for something that changes no deployment. */
export interface VmAccess {
  /** Of the deployment. */
  readonly name: string;
  readonly vmCid: string;
  /** A client whose waits end with the signal. */
  client(signal: AbortSignal): AgentClient;
}

/**
 * Finds the agent of the VM that a state file records: no lock is taken and nothing is printed. STATE_INVALID
 * where no VM is recorded, and OTHER_AGENT where another VM's agent answers.
 */
export async function openVm(
  { statePath, endpoint, proxy, signal }: VmAccessOptions,
  { clock, uuid }: Pick<EnvPorts, 'clock' | 'uuid'>,
): Promise<VmAccess> {
  const state = await readState(statePath);
  const vmCid = state?.current_vm_cid ?? '';
  if (state === undefined || vmCid === '') {
    const message = `Deployment state file '${statePath}' records no VM; create-env makes one, --state names another file`;
    throw new ProductError('STATE_INVALID', message);
  }
  const { name, mbus, ca } = await endpoint();
  const { director_id: directorId, current_agent_id: agentId = '' } = state;
  const client = (until: AbortSignal): AgentClient =>
    createAgentClient({ mbusUrl: mbus, ca, directorId, clock, uuid, proxy, signal: until });
  const { agentId: answering } = await client(signal).getState();
  if (isDifferentAgent(answering, state.current_agent_id))
    throw otherAgentError(answering, { vmCid, agentId, mbus }, '');
  return { name, vmCid, client };
}

/** What a manifest says; for errors see loadManifest. */
export async function manifestEndpoint(
  options: Pick<EnvOptions, 'manifestPath'> & Omit<Parameters<typeof loadManifest>[0], 'path'>,
): Promise<AgentEndpoint> {
  const { manifest } = await loadManifest({ ...options, path: resolve(options.manifestPath) });
  const { mbus, ca } = manifest.cloudProvider;
  return { name: manifest.name, mbus, ca };
}
