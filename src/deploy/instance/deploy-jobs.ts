import { join } from 'node:path';
import type { FailedProcess } from '../../bosh/agent-client/agent-client.ts';
import { packRenderedJobs } from '../../bosh/job/pack-rendered-jobs.ts';
import { networkInterfaces } from '../../bosh/manifest/network-interfaces.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import { compilePackages } from '../package/compile-packages.ts';
import { CompiledPackageCache } from '../package/compiled-package-cache.ts';
import { poll } from '../poll.ts';
import type { Run, AgentRun } from '../session.ts';
import type { Stage } from '../stage/stage.ts';
import { applySpec, instanceAddress, type ApplySpec } from './apply-spec.ts';
import { describeFailedProcesses, withScriptErrors } from './explain-failure.ts';
import { jobsToRender, renderTemplates, type TemplatesToRender } from './render-templates.ts';

export interface JobsToDeploy extends TemplatesToRender {
  /** The stemcell's name and version. */
  readonly stemcell: string;
}

/** Deploys the jobs to a VM whose agent responds, and starts them. Returns the instance's address. */
export async function deployJobs(
  run: Run,
  stage: Stage,
  deployment: JobsToDeploy,
): Promise<string | undefined> {
  const { manifest, releases } = deployment;
  const { agent } = run;
  const group = manifest.instanceGroup;
  const instance = `${group.name}/0`;
  const networks = networkInterfaces(manifest);
  const identity = { deployment: manifest.name, name: group.name, networks };
  // The first spec has no jobs. Through it the agent learns its networks and can report its address.
  await withContext('Applying the initial agent state', () => agent.apply(applySpec(identity)));
  const state = await withContext(`Getting state for instance '${instance}'`, () => agent.getState());
  const address = instanceAddress(networks, state.addresses);
  const jobs = jobsToRender(deployment);
  const templates = await withContext(`Rendering job templates for instance '${instance}'`, () =>
    stage.perform('Rendering job templates', () => uploadTemplates(run, deployment, address)),
  );
  const packages = await withContext(`Compiling job package dependencies for instance '${instance}'`, () =>
    compilePackages(
      {
        agent,
        cache: new CompiledPackageCache(deployment.directory.compiledPackages),
        stemcell: deployment.stemcell,
        warn: run.warn,
      },
      stage,
      releases.map((release) => ({
        release,
        names: jobs.filter(({ job }) => release.jobs.includes(job)).flatMap(({ job }) => job.packages),
      })),
    ),
  );
  const spec = applySpec(identity, { jobs: jobs.map(({ job }) => job), packages, templates });
  await updateInstance(run, stage, { instance, spec, watchTime: manifest.updateWatchTime });
  return address;
}

async function uploadTemplates(
  run: Run,
  deployment: JobsToDeploy,
  address: string | undefined,
): Promise<{ blobstoreId: string; sha1: string }> {
  const rendered = await renderTemplates(run, deployment, address);
  const archive = join(deployment.directory.temporary, 'rendered.tgz');
  const digest = await packRenderedJobs(rendered, archive);
  return { blobstoreId: await run.agent.putBlob(archive), sha1: digest };
}

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
  let troubled: readonly FailedProcess[] = [];
  const attempt = async (): Promise<true | undefined> => {
    try {
      const { jobState, failedProcesses: now } = await agent.getState();
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
  if (await poll(attempt, { clock, signal, timeoutMs: budget, maxDelayMs: 1000 })) return;
  const processes = describeFailedProcesses(troubled, run);
  const sentences = [
    `Instance '${instance}' was not running after ${watchTime.end / 1000} s (update_watch_time); the agent's last answer was ${last}.`,
    ...processes,
    'Its logs are in /var/vcap/sys/log',
  ];
  throw new ProductError('INSTANCE_NOT_RUNNING', sentences.join(processes.length === 0 ? ' ' : '\n'));
}
