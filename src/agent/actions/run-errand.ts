import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { outputTail } from '../file/output-tail.ts';
import { describeExit } from '../process/program.ts';
import { hasScript, runJobScript } from '../script/job-script.ts';
import type { ScriptPorts } from '../script/job-script.ts';
import { parsePathElement } from '../spec/apply-spec.ts';
import type { SpecFile } from '../spec/spec-file.ts';
import type { Action } from './action.ts';

export interface RunErrandOptions extends ScriptPorts {
  readonly specFile: SpecFile;
}

/**
 * `run_errand [job?]` -> `{exit_code, stdout, stderr}` of the job's bin/run, by default of the first job.
 * Both outputs are cut to their last part (bosh-agent: agent/action/run_errand.go).
 */
export function runErrand(options: RunErrandOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(list, signal) {
      const [first] = (await options.specFile.read()).jobs;
      if (first === undefined)
        throw new ProductError('AGENT_SCRIPT_FAILED', 'no job is applied that could be run as an errand');
      const job = list[0] === undefined ? first.name : parsePathElement(list[0], 'argument 1 (job)');
      if (!(await hasScript(job, 'run', options.directories)))
        throw new ProductError('AGENT_SCRIPT_FAILED', `job '${job}' is no errand: it has no bin/run`);
      return runInFiles(options, job, signal);
    },
  };
}

async function runInFiles(options: RunErrandOptions, job: string, signal: AbortSignal): Promise<unknown> {
  const path = join(options.directories.temporary, `errand-${randomUUID()}`);
  const paths = { stdout: `${path}.stdout`, stderr: `${path}.stderr` };
  try {
    await using stdout = await open(paths.stdout, 'ax', 0o600);
    await using stderr = await open(paths.stderr, 'ax', 0o600);
    const exit = await runJobScript(options, { job, name: 'run', environment: {}, stdout, stderr }, signal);
    const problem = exit.code === undefined ? `\nit ${describeExit(exit)}` : '';
    return {
      exit_code: exit.code ?? 255,
      stdout: (await outputTail(paths.stdout)).text,
      stderr: (await outputTail(paths.stderr)).text + problem,
    };
  } finally {
    for (const file of Object.values(paths)) await rm(file, { force: true });
  }
}
