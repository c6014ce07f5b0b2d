import { ProductError } from '../../errors/product-error.ts';
import type { JobStarter } from '../job-starter.ts';
import {
  runScripts,
  type RunScriptsPorts,
  hasScript,
  runJobScript,
  type ScriptPorts,
} from '../script/job-script.ts';
import type { Field } from '../../platform/field.ts';
import { type SpecFile, parsePathElement } from '../apply/spec.ts';
import { type Action, argument } from './action.ts';
import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { outputTail } from '../file/files.ts';
import { describeExit } from '../process/programs.ts';

export interface RunScriptOptions extends RunScriptsPorts {
  readonly specFile: SpecFile;
  readonly jobStart: JobStarter;
}

// The names that a director and create-env use. Any other name could lead to a file outside `bin`.
const scripts = new Set(['pre-start', 'post-start', 'pre-stop', 'post-stop', 'post-deploy']);
const needsStore = new Set(['pre-start', 'post-start']);

/** `run_script [name, {env}]` -> `{}` when the script has succeeded for every job that has it. */
export function runScript(options: RunScriptOptions): Action {
  return {
    mode: 'asynchronous',
    async run(args, signal) {
      const name = argument(args, 0, 'script name').nonEmptyString();
      if (!scripts.has(name)) {
        throw new ProductError(
          'AGENT_ARGUMENT_INVALID',
          `there is no script '${name}': it is one of ${[...scripts].join(', ')}`,
        );
      }
      const environment = parseEnv(argument(args, 1, 'options'));
      if (needsStore.has(name)) await options.jobStart.assertDisksMounted();
      const jobs = (await options.specFile.read()).jobs.map((job) => job.name);
      await runScripts(options, { name, jobs, environment }, signal);
      return {};
    },
  };
}

function parseEnv(options: Field): Readonly<Record<string, string>> {
  const variables = options
    .get('env')
    .entries()
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw value.error('is not the name of a variable');
      return [name, value.string()] as const;
    });
  return Object.fromEntries(variables);
}

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
    async run(args, signal) {
      const [first] = (await options.specFile.read()).jobs;
      if (first === undefined)
        throw new ProductError('AGENT_SCRIPT_FAILED', 'no job is applied that could be run as an errand');
      const job = args[0] === undefined ? first.name : parsePathElement(argument(args, 0, 'job'));
      if (!(await hasScript(job, 'run', options.directories)))
        throw new ProductError('AGENT_SCRIPT_FAILED', `job '${job}' is not an errand: it has no bin/run`);
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
