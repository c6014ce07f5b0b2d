import { ProductError, isProductError } from '../../errors/product-error.ts';
import { errorChain, withContext } from '../../platform/error-chain.ts';
import type { AgentRun } from '../session.ts';
import type { Stage } from '../stage/stage.ts';
import { withScriptErrors } from './explain-failure.ts';
import { findForeignAgentId } from './verify-agent.ts';
import { oldAgentBudget, waitForAgent } from './wait-for-agent.ts';

export interface ShutDownOptions {
  /** The name for messages, for example `group/0`. */
  readonly instance: string;
  readonly vmCid: string;
  readonly skipDrain: boolean;
}

/**
 * Stops the jobs and unmounts the disks through the agent before a VM is deleted. An agent that does not
 * respond causes only a warning, because its VM must be deletable. An agent of another VM also causes only a
 * warning and gets no further requests. Any later error ends the run.
 */
export async function shutDownInstance(run: AgentRun, stage: Stage, options: ShutDownOptions): Promise<void> {
  if (!(await agentAnswers(run, stage, options.vmCid))) return;
  await stopJobs(run, stage, options);
  await unmountDisks(run, stage, options.vmCid);
}

/** Stops the jobs through an agent that responds, in the order of BOSH. */
export async function stopJobs(
  run: AgentRun,
  stage: Stage,
  { instance, skipDrain }: Pick<ShutDownOptions, 'instance' | 'skipDrain'>,
): Promise<void> {
  const { agent } = run;
  const script = (name: 'pre-stop' | 'post-stop'): Promise<void> =>
    stage.perform(`Running the ${name} scripts '${instance}'`, () =>
      withScriptErrors(run, { step: `Running the ${name} script`, name }, () => agent.runScript(name)),
    );
  await script('pre-stop');
  if (!skipDrain) {
    await stage.perform(`Draining jobs on instance '${instance}'`, () =>
      withScriptErrors(run, { step: 'Draining VM', name: 'drain' }, () => drain(run)),
    );
  }
  await stage.perform(`Stopping jobs on instance '${instance}'`, () =>
    withContext('Stopping agent', () => agent.stop()),
  );
  await script('post-stop');
}

async function agentAnswers(run: AgentRun, stage: Stage, vmCid: string): Promise<boolean> {
  const notStopped = (reason: string): void =>
    run.warn(`The agent of VM '${vmCid}' did not stop its jobs and did not unmount its disks: ${reason}`);
  try {
    await stage.perform(`Waiting for the agent on VM '${vmCid}'`, () =>
      withContext('Agent unreachable', () => waitForAgent(run, oldAgentBudget)),
    );
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    notStopped(errorChain(error).join(': '));
    return false;
  }
  const other = await findForeignAgentId(run);
  if (other !== undefined)
    notStopped(`another VM's agent, '${other}', responds at cloud_provider.mbus and received no request`);
  return other === undefined;
}

/** One day in seconds, which is also the limit of the drain scripts. */
const maxDrainSeconds = 86_400;

async function drain({ agent, clock, signal }: AgentRun): Promise<void> {
  const seconds = await agent.drain();
  if (seconds < 0) {
    throw new ProductError(
      'AGENT_ERROR',
      `The agent returned ${seconds} for drain; dynamic drain is a task of the agent itself`,
    );
  }
  // Also true for NaN. Jobs that have not drained must not be stopped.
  if (!(seconds <= maxDrainSeconds)) {
    throw new ProductError(
      'AGENT_ERROR',
      `The agent returned ${seconds} for drain, which is more than the limit of ${maxDrainSeconds} s; its jobs were not stopped. ` +
        'If the jobs can do without draining, run the command again with --skip-drain',
    );
  }
  await clock.sleep(seconds * 1000, signal);
}

async function unmountDisks({ agent }: AgentRun, stage: Stage, vmCid: string): Promise<void> {
  const disks = await withContext(`Getting VM '${vmCid}' disks`, () => agent.listDisks());
  for (const disk of disks) {
    await stage.perform(`Unmounting disk '${disk}'`, () =>
      withContext(`Unmounting disk '${disk}' from VM '${vmCid}'`, () => agent.unmountDisk(disk)),
    );
  }
}
