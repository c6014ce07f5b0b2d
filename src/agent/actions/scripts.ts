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
import { cutMiddle } from '../file/cut-middle.ts';
import { readEnds } from '../file/files.ts';
import { responseLimit } from '../mbus/nats-message.ts';
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
          `there is no script '${name}'; it must be one of ${[...scripts].join(', ')}`,
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
 * `run_errand [job?]` -> `{exit_code, stdout, stderr}` of the job's bin/run, by default of the first job
 * (bosh-agent: agent/action/run_errand.go). The outputs are whole if the response has at most 1 MiB;
 * otherwise each keeps its beginning and its end.
 */
export function runErrand(options: RunErrandOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(args, signal) {
      const [first] = (await options.specFile.read()).jobs;
      if (first === undefined)
        throw new ProductError('AGENT_SCRIPT_FAILED', 'no applied job can be run as an errand');
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
    await using errors = await open(paths.stderr, 'ax', 0o600);
    const exit = await runJobScript(
      options,
      { job, name: 'run', environment: {}, stdout, stderr: errors },
      signal,
    );
    const problem = exit.code === undefined ? `\nit ${describeExit(exit)}` : '';
    const stderr = (await readEnds(paths.stderr, errandResponseLimit)) + problem;
    return fitErrandResult({
      exit_code: exit.code ?? 255,
      stdout: await readEnds(paths.stdout, errandResponseLimit),
      stderr,
    });
  } finally {
    for (const file of Object.values(paths)) await rm(file, { force: true });
  }
}

interface ErrandResult {
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The rest is for the envelope of the response. */
const errandResponseLimit = responseLimit - 1024;

/**
 * Cuts the outputs if the result is too long for a response. stderr gets half of the room, or what stdout
 * leaves.
 */
function fitErrandResult(result: ErrandResult): ErrandResult {
  const sizeOf = (one: ErrandResult): number => Buffer.byteLength(JSON.stringify(one));
  if (sizeOf(result) <= errandResponseLimit) return result;
  const rest = errandResponseLimit - sizeOf({ ...result, stderr: '' });
  const room = Math.max(errandResponseLimit / 2, rest);
  const stderr = cutMiddle(result.stderr, (text) => Buffer.byteLength(JSON.stringify(text)) <= room);
  const stdout = cutMiddle(
    result.stdout,
    (text) => sizeOf({ ...result, stdout: text, stderr }) <= errandResponseLimit,
  );
  return { ...result, stdout, stderr };
}
