import type { TroubledProcess } from '../../bosh/agent-client/agent-client.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { within } from '../error-chain.ts';
import { poll } from '../poll.ts';
import type { AgentRun, Run } from '../run.ts';
import type { Stage } from '../stage/stage.ts';
import { describeTroubled } from './describe-troubled.ts';
import { withScript } from './failed-script.ts';

export type ApplySpec = Readonly<Record<string, unknown>>;

/** Milliseconds. */
interface WatchTime {
  readonly start: number;
  readonly end: number;
}

export interface InstanceUpdate {
  /** `group/0` as it is shown. */
  readonly instance: string;
  readonly spec: ApplySpec;
  readonly watchTime: WatchTime;
}

/** Applies the full spec, starts the jobs and waits until they run (reference agent-bootstrap 1.3, steps 15 to 17). */
export async function updateInstance(run: Run, stage: Stage, update: InstanceUpdate): Promise<void> {
  const { agent } = run;
  const { instance, spec } = update;
  const script = (name: 'pre-start' | 'post-start'): Promise<void> =>
    withScript(run, { step: `Running the ${name} script`, name }, () => agent.runScript(name));
  await stage.perform(`Updating instance '${instance}'`, async () => {
    await within('Stopping the agent', () => agent.stop());
    await within('Applying the agent state', () => agent.apply(spec));
    await script('pre-start');
    await within('Starting the agent', () => agent.start());
  });
  await stage.perform(`Waiting for instance '${instance}' to be running`, () =>
    waitUntilRunning(run, update),
  );
  await stage.perform(`Running the post-start scripts '${instance}'`, () => script('post-start'));
}

/** The start of the watch time is waited in full: jobs that die early have to be seen. */
export async function waitUntilRunning(
  run: AgentRun,
  { instance, watchTime }: Pick<InstanceUpdate, 'instance' | 'watchTime'>,
): Promise<void> {
  const { agent, clock, signal } = run;
  await clock.sleep(watchTime.start, signal);
  let last = 'nothing';
  let troubled: readonly TroubledProcess[] = [];
  const attempt = async (): Promise<true | undefined> => {
    try {
      const { jobState, troubled: now } = await agent.getState();
      troubled = now;
      last = `job_state '${jobState}'`;
      return jobState === 'running' ? true : undefined;
    } catch (error) {
      if (!isProductError(error, 'AGENT_UNREACHABLE')) throw error;
      last = error.message;
      return undefined;
    }
  };
  const budget = watchTime.end - watchTime.start;
  if (await poll(attempt, { clock, signal, budget, longestPause: 1000 })) return;
  const processes = describeTroubled(troubled, run);
  const sentences = [
    `Instance '${instance}' was not running after ${watchTime.end / 1000} s (update_watch_time); the agent's last answer was ${last}.`,
    ...processes,
    'Its logs are in /var/vcap/sys/log',
  ];
  throw new ProductError('INSTANCE_NOT_RUNNING', sentences.join(processes.length === 0 ? ' ' : '\n'));
}
