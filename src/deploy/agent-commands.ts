import { createAgentClient } from '../bosh/agent-client/create-agent-client.ts';
import type { Manifest } from '../bosh/manifest/manifest.ts';
import { ProductError } from '../errors/product-error.ts';
import { withContext } from '../platform/error-chain.ts';
import { withScriptErrors } from './instance/explain-failure.ts';
import { stopJobs } from './instance/shut-down-instance.ts';
import { waitUntilRunning } from './instance/update-instance.ts';
import { findForeignAgentId, otherAgentError } from './instance/verify-agent.ts';
import { oldAgentBudget, waitForAgent } from './instance/wait-for-agent.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { type AgentRun, withSession, type Session } from './session.ts';
import type { Stage } from './stage/stage.ts';
import { validateManifest } from './validate/validate-deployment.ts';

/** Starts the jobs of the deployed VM and waits until they run. For errors see withAgent. */
export async function startEnv(options: EnvOptions, ports: EnvPorts): Promise<void> {
  await withAgent(options, ports, { name: 'starting deployment', action: startJobs });
}

const instance = 'unknown/0';

const startJobs: AgentAction = async (run, stage, { updateWatchTime: watchTime }) => {
  const { agent } = run;
  const script = (name: 'pre-start' | 'post-start'): Promise<void> =>
    stage.perform(`Running the ${name} scripts '${instance}'`, () =>
      withScriptErrors(run, { step: `Running the ${name} script`, name }, () => agent.runScript(name)),
    );
  await script('pre-start');
  await stage.perform(`Starting the agent '${instance}'`, () =>
    withContext('Starting the agent', () => agent.start()),
  );
  await stage.perform(`Waiting for instance '${instance}' to be running`, () =>
    waitUntilRunning(run, { instance, watchTime }),
  );
  await script('post-start');
};

/**
 * Stops the jobs of the deployed VM. VM and disks stay, and the disks stay mounted. For errors see withAgent.
 */
export async function stopEnv(options: EnvOptions, ports: EnvPorts): Promise<void> {
  const skipDrain = options.skipDrain === true;
  await withAgent(options, ports, {
    name: 'stopping deployment',
    action: (run, stage) => stopJobs(run, stage, { instance: 'unknown/0', skipDrain }),
  });
}

export type AgentAction = (run: AgentRun, stage: Stage, manifest: Manifest) => Promise<void>;

/**
 * Runs `action` with the agent of the deployed VM. Installs and calls no CPI (bosh-cli
 * cmd/deployment_state_manager.go). Does nothing if there is no state file. Rejects with STATE_INVALID if no
 * VM is recorded, with AGENT_UNREACHABLE if its agent does not respond, and with OTHER_AGENT if another VM's
 * agent responds; the bosh CLI reports success in these cases.
 */
export async function withAgent(
  options: EnvOptions,
  ports: EnvPorts,
  { name, action }: { readonly name: string; readonly action: AgentAction },
): Promise<void> {
  await withSession(options, ports, (session) => actOn(session, name, action), { existing: true });
}

async function actOn(session: Session, name: string, action: AgentAction): Promise<void> {
  const { stage, state, ports, options } = session;
  const manifest = await validateManifest(stage, session);
  const vmCid = state.state.current_vm_cid;
  if (vmCid === '')
    throw new ProductError(
      'STATE_INVALID',
      `Deployment state file '${state.path}' records no VM; create-env creates one`,
    );
  const { mbus, ca } = manifest.cloudProvider;
  const { clock, uuid, warn } = ports;
  const { signal, commandInVm, proxy } = options;
  const directorId = state.state.director_id;
  const agent = createAgentClient({ mbusUrl: mbus, ca, directorId, clock, uuid, signal, proxy });
  const run = { agent, state, clock, signal, warn, commandInVm };
  await stage.performComplex(name, async (group) => {
    await group.perform(`Waiting for the agent on VM '${vmCid}'`, () =>
      withContext('Agent unreachable', () => waitForAgent(run, oldAgentBudget)),
    );
    const other = await findForeignAgentId(run);
    const { current_agent_id: agentId = '' } = state.state;
    if (other !== undefined)
      throw otherAgentError(other, { vmCid, agentId, mbus }, ' and nothing was changed');
    await action(run, group, manifest);
  });
}
