import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { describeExit } from '../process/program.ts';
import { dynamicDrainParameters } from './drain-parameters.ts';
import type { DrainParameters } from './drain-parameters.ts';
import { hasScript, runJobScript } from './job-script.ts';
import type { ScriptPorts } from './job-script.ts';
import { runInParallel } from './run-in-parallel.ts';
import type { PendingScript } from './run-in-parallel.ts';

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
        for (let asked = parameters; ; asked = dynamicDrainParameters(parameters)) {
          const seconds = await drainJob(ports, job, asked, signal);
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
