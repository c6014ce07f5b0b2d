import { join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { outputTail } from '../file/output-tail.ts';
import type { Log } from '../log.ts';
import { describeExit } from '../process/program.ts';
import type { Identities } from '../user/identities.ts';
import { ownershipHint } from '../user/ownership-hint.ts';
import { hasScript, runJobScript } from './job-script.ts';
import type { ScriptPorts } from './job-script.ts';
import { runInParallel } from './run-in-parallel.ts';
import type { PendingScript } from './run-in-parallel.ts';

export interface ScriptsRequest {
  readonly name: string;
  readonly jobs: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface RunScriptsPorts extends ScriptPorts {
  readonly identities: Identities;
  readonly log: Log;
}

/** Runs a script of every job that has it, in parallel. Succeeds if no job has it. */
export async function runScripts(
  ports: RunScriptsPorts,
  request: ScriptsRequest,
  signal: AbortSignal,
): Promise<void> {
  const { name, environment } = request;
  const scripts: PendingScript[] = [];
  const hints: string[] = [];
  for (const job of request.jobs) {
    if (!(await hasScript(job, name, ports.directories))) continue;
    scripts.push({
      job,
      run: async () => {
        const exit = await runJobScript(ports, { job, name, environment }, signal);
        if (exit.code === 0) return;
        const hint = await hintOf(ports, job, name);
        if (hint !== undefined) hints.push(`Job ${job}: ${hint}`);
        throw new Error(describeExit(exit));
      },
    });
  }
  try {
    await runInParallel(name, scripts, ports.log);
  } catch (error) {
    if (hints.length === 0 || !isProductError(error)) throw error;
    throw new ProductError(error.code, `${error.message} ${hints.join(' ')}`, { cause: error });
  }
}

async function hintOf(ports: RunScriptsPorts, job: string, name: string): Promise<string | undefined> {
  const { text } = await outputTail(join(ports.directories.log, job, `${name}.stderr.log`));
  return ownershipHint(text, ports.identities);
}
