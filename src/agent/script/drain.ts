import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { describeExit } from '../process/programs.ts';
import {
  hasScript,
  runJobScript,
  type ScriptPorts,
  runInParallel,
  type PendingScript,
} from './job-script.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { ApplySpec } from '../apply/spec.ts';

const answerLimit = 4096;

/**
 * Runs the drain scripts of all jobs in parallel. A script prints the seconds to wait, and this function
 * waits, so that the action `drain` returns 0. Dynamic drain: if a script prints a negative number, waits and
 * runs it again, until it prints another number. Any other output, or an exit status other than 0, fails the
 * drain.
 */
export async function drainJobs(
  ports: ScriptPorts & { readonly log: Log },
  jobs: readonly string[],
  parameters: DrainParameters,
  signal: AbortSignal,
): Promise<void> {
  const scripts: PendingScript[] = [];
  for (const job of jobs) {
    if (!(await hasScript(job, 'drain', ports.directories))) continue;
    scripts.push({
      job,
      run: async () => {
        for (let current = parameters; ; current = dynamicDrainParameters(parameters)) {
          const seconds = await drainJob(ports, job, current, signal);
          await ports.clock.sleep(Math.abs(seconds) * 1000, signal);
          if (signal.aborted) throw new Error('Script was cancelled by user request');
          if (seconds >= 0) return;
        }
      },
    });
  }
  await runInParallel('drain', scripts, ports.log);
}

async function drainJob(
  ports: ScriptPorts,
  job: string,
  parameters: DrainParameters,
  signal: AbortSignal,
): Promise<number> {
  const path = join(ports.directories.temporary, `drain-${randomUUID()}`);
  await using stdout = await open(path, 'wx+', 0o600);
  try {
    const exit = await runJobScript(ports, { job, name: 'drain', ...parameters, stdout }, signal);
    if (exit.code !== 0) throw new Error(describeExit(exit));
    const { buffer, bytesRead } = await stdout.read(Buffer.alloc(answerLimit), 0, answerLimit, 0);
    const answer = buffer.toString('utf8', 0, bytesRead).trim();
    if (/^[+-]?[0-9]{1,9}$/.test(answer)) return Number(answer);
    throw new Error('Script did not return a signed integer');
  } finally {
    await rm(path, { force: true });
  }
}

/** The arguments and the environment of a drain script (bosh-agent: agent/script/drain/script_params.go). */
export interface DrainParameters {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Returns the parameters for a drain of type `shutdown` or `update`. `update` needs the new spec. */
export function drainParameters(
  type: string,
  current: ApplySpec,
  next: ApplySpec | undefined,
): DrainParameters {
  const environment = {
    BOSH_JOB_STATE: publicState(current),
    ...(next === undefined ? {} : { BOSH_JOB_NEXT_STATE: publicState(next) }),
  };
  switch (type) {
    case 'shutdown':
      return { arguments: ['job_shutdown', 'hash_unchanged'], environment };
    case 'update':
      if (next === undefined) throw invalid('Drain update requires new spec');
      return { arguments: updateArguments(current, next), environment };
    case 'status':
      throw invalid("Unexpected call with drain type 'status'");
    default:
      throw invalid(`drain type '${type}' is neither shutdown nor update`);
  }
}

/**
 * Returns the parameters for a script that is run again (bosh-agent: agent/script/drain/script_params.go,
 * NewStatusParams).
 */
function dynamicDrainParameters({ environment }: DrainParameters): DrainParameters {
  return { arguments: ['job_check_status', 'hash_unchanged'], environment };
}

function updateArguments(current: ApplySpec, next: ApplySpec): readonly string[] {
  const digests = new Map(current.packages.map((entry) => [entry.name, entry.digest]));
  const updated = next.packages.filter((entry) => digests.get(entry.name) !== entry.digest);
  return [
    current.jobs.length === 0 ? 'job_new' : 'job_changed',
    hashChange(current.configurationHash, next.configurationHash),
    ...updated.map((entry) => entry.name).toSorted(),
  ];
}

function hashChange(current: string, next: string): string {
  if (current === '') return 'hash_new';
  return current === next ? 'hash_unchanged' : 'hash_changed';
}

function publicState(spec: ApplySpec): string {
  return JSON.stringify({ persistent_disk: spec.persistentDisk });
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_ARGUMENT_INVALID', cause);
}
