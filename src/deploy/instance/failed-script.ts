import { ProductError, isProductError } from '../../errors/product-error.ts';
import { withContext } from '../error-chain.ts';
import type { AgentRun } from '../run.ts';

export type ScriptName = 'pre-start' | 'post-start' | 'pre-stop' | 'drain' | 'post-stop';

/**
 * Runs scripts of the VM's jobs as the step `step`. The agent reports only the jobs whose scripts failed. The
 * error adds where their output is, the command that shows it (if the caller knows one), and how to continue.
 */
export async function withScriptErrors<T>(
  run: AgentRun,
  { step, name }: { readonly step: string; readonly name: ScriptName },
  action: () => Promise<T>,
): Promise<T> {
  const vmCid = run.state.state.current_vm_cid;
  return withContext(step, async () => {
    try {
      return await action();
    } catch (error) {
      const jobs = isProductError(error, 'AGENT_ERROR') ? failedJobs(error.message) : [];
      if (!isProductError(error) || jobs.length === 0) throw error;
      const logs = jobs.map((job) => `/var/vcap/sys/log/${job}/${name}.stderr.log`);
      const command = run.commandInVm?.(vmCid, ['cat', ...logs]);
      const shown = command === undefined ? '' : `; this shows it: ${command}`;
      const where = `What it wrote is in ${logs.join(', ')} of VM '${vmCid}'${shown}`;
      throw new ProductError(error.code, `${error.message} ${where}. ${nextStep(name, jobs)}`, {
        cause: error.cause,
      });
    }
  });
}

/** Parses the job names from the agent's message (bosh-agent: agent/script/parallel_script.go). */
function failedJobs(message: string): readonly string[] {
  const names = / Failed Jobs: ([\w., -]+?)(?:\. Successful Jobs: |\.?$)/.exec(message)?.[1];
  return names === undefined ? [] : names.split(', ');
}

/**
 * `--skip-drain` of the bosh CLI's env commands skips only drain, although its help names more scripts
 * (deployment/instance/instance.go).
 */
function nextStep(name: ScriptName, jobs: readonly string[]): string {
  const files = jobs.map((job) => `/var/vcap/jobs/${job}/bin/${name}`).join(', ');
  const again = 'and run the same command again';
  switch (name) {
    case 'pre-start':
    case 'post-start':
      return `Mend the job or its properties ${again}`;
    case 'drain':
      return `Mend ${files} in the VM ${again}, or leave drain out with --skip-drain`;
    case 'pre-stop':
    case 'post-stop':
      return (
        `Mend ${files} in the VM ${again}; --skip-drain does not leave it out. To go on without it, delete the VM in the cloud: ` +
        'its disks stay, and the next run goes on from there'
      );
  }
}
