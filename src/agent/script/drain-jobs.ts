import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Log } from '../log.ts';
import { describeExit } from '../process/program.ts';
import type { DrainParameters } from './drain-parameters.ts';
import { hasScript, runJobScript } from './job-script.ts';
import type { ScriptPorts } from './job-script.ts';
import { runInParallel } from './run-in-parallel.ts';
import type { PendingScript } from './run-in-parallel.ts';

const answerLimit = 4096;

/**
 * Runs the drain scripts of all jobs side by side. A script prints the seconds to wait, which are waited here, so
 * that the drain as a whole answers 0. A negative answer (dynamic drain) is AGENT_NOT_SUPPORTED yet; any other
 * answer, or an exit other than 0, fails the drain.
 */
export async function drainJobs(
  ports: ScriptPorts & { readonly log: Log },
  jobs: readonly string[],
  parameters: DrainParameters,
  signal: AbortSignal,
): Promise<void> {
  const dynamic: string[] = [];
  const scripts: PendingScript[] = [];
  for (const job of jobs) {
    if (!(await hasScript(job, 'drain', ports.directories))) continue;
    scripts.push({
      job,
      run: async () => {
        const seconds = await drainJob(ports, job, parameters, signal);
        if (seconds < 0) dynamic.push(`${job} (${seconds})`);
        else await ports.clock.sleep(seconds * 1000, signal);
        if (signal.aborted) throw new Error('Script was cancelled by user request');
      },
    });
  }
  await runInParallel('drain', scripts, ports.log);
  if (dynamic.length === 0) return;
  throw new ProductError(
    'AGENT_NOT_SUPPORTED',
    `dynamic drain, a negative answer of a drain script, is not supported yet; answered by ${dynamic.join(', ')}`,
  );
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
