import type { Log } from '../log.ts';
import { describeExit } from '../process/program.ts';
import { hasScript, runJobScript } from './job-script.ts';
import type { ScriptPorts } from './job-script.ts';
import { runInParallel } from './run-in-parallel.ts';
import type { PendingScript } from './run-in-parallel.ts';

export interface ScriptsRequest {
  readonly name: string;
  readonly jobs: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs one script of every job that has it, side by side; no job having it is success. */
export async function runScripts(
  ports: ScriptPorts & { readonly log: Log },
  request: ScriptsRequest,
  signal: AbortSignal,
): Promise<void> {
  const { name, environment } = request;
  const scripts: PendingScript[] = [];
  for (const job of request.jobs) {
    if (!(await hasScript(job, name, ports.directories))) continue;
    scripts.push({
      job,
      run: async () => {
        const exit = await runJobScript(ports, { job, name, environment }, signal);
        if (exit.code !== 0) throw new Error(describeExit(exit));
      },
    });
  }
  await runInParallel(name, scripts, ports.log);
}
