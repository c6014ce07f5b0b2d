import type { FailedProcess } from '../../bosh/agent-client/agent-client.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import { poll } from '../../platform/poll.ts';
import type { AgentRun, Run } from '../session.ts';
import type { Stage } from '../stage/stage.ts';
import type { ApplySpec } from './apply-spec.ts';
import { describeFailedProcesses, withScriptErrors } from './explain-failure.ts';

/** Milliseconds. */
interface WatchTime {
  readonly start: number;
  readonly end: number;
}

export interface InstanceUpdate {
  /** The name for messages, for example `group/0`. */
  readonly instance: string;
  readonly spec: ApplySpec;
  readonly watchTime: WatchTime;
}

/** Applies the full spec, starts the jobs and waits until they run. */
export async function updateInstance(run: Run, stage: Stage, update: InstanceUpdate): Promise<void> {
  const { agent } = run;
  const { instance, spec } = update;
  const script = (name: 'pre-start' | 'post-start'): Promise<void> =>
    withScriptErrors(run, { step: `Running the ${name} script`, name }, () => agent.runScript(name));
  await stage.perform(`Updating instance '${instance}'`, async () => {
    await withContext('Stopping the agent', () => agent.stop());
    await withContext('Applying the agent state', () => agent.apply(spec));
    await script('pre-start');
    await withContext('Starting the agent', () => agent.start());
  });
  await stage.perform(`Waiting for instance '${instance}' to be running`, () =>
    waitUntilRunning(run, update),
  );
  await stage.perform(`Running the post-start scripts '${instance}'`, () => script('post-start'));
}

/** Waits for the whole lower limit of the watch time, so that jobs that exit early are detected. */
export async function waitUntilRunning(
  run: AgentRun,
  { instance, watchTime }: Pick<InstanceUpdate, 'instance' | 'watchTime'>,
): Promise<void> {
  const { agent, clock, signal } = run;
  await clock.sleep(watchTime.start, signal);
  let last = 'nothing';
  let failed: readonly FailedProcess[] = [];
  const attempt = async (): Promise<true | undefined> => {
    try {
      const { jobState, failedProcesses: now } = await agent.getState();
      failed = now;
      last = `job_state '${jobState}'`;
      return jobState === 'running' ? true : undefined;
    } catch (error) {
      if (!isProductError(error, 'AGENT_UNREACHABLE')) throw error;
      last = error.message;
      return undefined;
    }
  };
  const budget = watchTime.end - watchTime.start;
  if (await poll(attempt, { clock, signal, timeoutMs: budget, maxDelayMs: 1000 })) return;
  const processes = describeFailedProcesses(failed, run);
  const sentences = [
    `Instance '${instance}' was not running after ${watchTime.end / 1000} s (update_watch_time); the agent's last answer was ${last}.`,
    ...processes,
    'Its logs are in /var/vcap/sys/log',
  ];
  throw new ProductError('INSTANCE_NOT_RUNNING', sentences.join(processes.length === 0 ? ' ' : '\n'));
}
