import type { JobSupervisor, ProcessStatus } from '../monit/job-supervisor.ts';
import type { Settings } from '../settings/settings.ts';
import type { SpecFile } from '../apply/spec.ts';
import type { Action } from './action.ts';

export interface GetStateOptions {
  readonly settings: Settings;
  readonly specFile: SpecFile;
  readonly supervisor: JobSupervisor;
  readonly vitals: () => Promise<Record<string, unknown>>;
  readonly now: () => number;
}

/** `get_state ["full"]` -> the applied spec with job_state; `full` adds vitals (bosh-agent: get_state.go). */
export function getState(options: GetStateOptions): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const { settings, supervisor } = options;
      const spec = await options.specFile.read();
      const jobState = await supervisor.state();
      const processes = (await supervisor.processes()).map((process) =>
        processStatus(process, options.now()),
      );
      return {
        properties: { logging: { max_log_file_size: '' } },
        job: {},
        packages: {},
        configuration_hash: '',
        networks: {},
        resource_pool: {},
        index: null,
        persistent_disk: 0,
        rendered_templates_archive: { sha1: null, blobstore_id: '' },
        ...spec.source,
        agent_id: settings.agentId,
        job_state: jobState,
        vm: { name: settings.vmName },
        ...(args[0] === 'full' ? { vitals: await options.vitals() } : {}),
        ...(processes.length > 0 ? { processes } : {}),
      };
    },
  };
}

function processStatus(
  { definition, name, state, live, diagnostics }: ProcessStatus,
  now: number,
): Record<string, unknown> {
  // Upstream has no such fields. The deployer prints them if an instance does not come up.
  const more =
    diagnostics === undefined
      ? {}
      : {
          ...{ job: definition.job, problem: diagnostics.problem },
          ...{ last_exit: diagnostics.lastExit, output: diagnostics.output },
        };
  if (live === undefined) return { name, state, uptime: {}, mem: { percent: 0 }, cpu: { total: 0 }, ...more };
  const seconds = Math.max(1, Math.floor((now - live.startedAt) / 1000));
  return {
    name,
    state,
    uptime: { secs: seconds },
    mem: { kb: live.memoryKilobytes, percent: 0 },
    cpu: { total: Number(((live.cpuSeconds / seconds) * 100).toFixed(1)) },
    ...more,
  };
}

/** `ping []` -> `"pong"`. */
export const ping: Action = { mode: 'synchronous', run: async () => 'pong' };

/** `info []` -> the agent's API version (bosh-agent: agent/action/info.go). */
export const info: Action = { mode: 'synchronous', run: async () => ({ api_version: 1 }) };
