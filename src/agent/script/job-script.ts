import { stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { type ProgramExit, type Programs, runAgentProgram, describeExit } from '../process/programs.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Log } from '../log.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';
import { outputTail } from '../file/files.ts';
import { type Identities, ownershipHint } from '../user/identities.ts';

// The four system directories, independent of the agent's own PATH (bosh-agent: agent/script/pathenv).
export const scriptPath = '/usr/sbin:/usr/bin:/sbin:/bin';

export interface ScriptPorts {
  readonly programs: Programs;
  readonly clock: Clock;
  readonly directories: Directories;
}

export interface JobScriptRequest {
  readonly job: string;
  /** The script's file name in the job's `bin`. */
  readonly name: string;
  readonly arguments?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The launch mark of the script and of the processes that it starts. */
  readonly mark?: string;
  /** Open files for the output, instead of the log files. */
  readonly stdout?: FileHandle;
  readonly stderr?: FileHandle;
}

/** Returns true if the job has the script. */
export async function hasScript(job: string, name: string, directories: Directories): Promise<boolean> {
  try {
    return (await stat(scriptFile(job, name, directories))).isFile();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Runs a job's script. Appends its output to sys/log/<job>/<script>.{stdout,stderr}.log. */
export async function runJobScript(
  ports: ScriptPorts,
  request: JobScriptRequest,
  signal: AbortSignal,
): Promise<ProgramExit> {
  await using logs = await DirectoryHandle.open(ports.directories.log);
  await logs.makeDirectory(request.job, 0o750);
  // Job users can write to this directory.
  await using log = await logs.directory(request.job);
  const { name } = request;
  await using stdout =
    request.stdout === undefined ? await log.openFile(`${name}.stdout.log`, 'append') : undefined;
  await using stderr =
    request.stderr === undefined ? await log.openFile(`${name}.stderr.log`, 'append') : undefined;
  return await runAgentProgram(
    ports,
    {
      file: scriptFile(request.job, request.name, ports.directories),
      arguments: request.arguments ?? [],
      environment: { PATH: scriptPath, ...request.environment },
      ...(request.mark === undefined ? {} : { mark: request.mark }),
      ...descriptorsOf(request.stdout ?? stdout, request.stderr ?? stderr),
    },
    signal,
  );
}

function descriptorsOf(
  stdout: FileHandle | undefined,
  stderr: FileHandle | undefined,
): { readonly stdout?: number; readonly stderr?: number } {
  return {
    ...(stdout === undefined ? {} : { stdout: stdout.fd }),
    ...(stderr === undefined ? {} : { stderr: stderr.fd }),
  };
}

function scriptFile(job: string, name: string, directories: Directories): string {
  return join(directories.jobs, job, 'bin', name);
}

/** The run of a script of one job. It rejects if the script failed. */
export interface PendingScript {
  readonly job: string;
  readonly run: () => Promise<void>;
}

/**
 * Runs the scripts of all jobs in parallel and waits for all of them. Throws AGENT_SCRIPT_FAILED with the
 * jobs that failed, in upstream's wording (bosh-agent: agent/script/parallel_script.go).
 */
export async function runInParallel(
  name: string,
  scripts: readonly PendingScript[],
  log: Log,
): Promise<void> {
  const results = await Promise.allSettled(scripts.map((script) => script.run()));
  const failed: string[] = [];
  const passed: string[] = [];
  for (const [index, { job }] of scripts.entries()) {
    const result = results[index];
    (result?.status === 'fulfilled' ? passed : failed).push(job);
    if (result?.status === 'rejected')
      log.error(`${name} script of job '${job}': ${errorMessage(result.reason)}`);
  }
  if (failed.length === 0) return;
  throw new ProductError('AGENT_SCRIPT_FAILED', failureMessage(name, failed, passed));
}

function failureMessage(name: string, failed: readonly string[], passed: readonly string[]): string {
  const successful = passed.length === 0 ? '' : `. Successful Jobs: ${passed.join(', ')}`;
  const total = failed.length + passed.length;
  return `${failed.length} of ${total} ${name} scripts failed. Failed Jobs: ${failed.join(', ')}${successful}.`;
}

export interface ScriptsRequest {
  readonly name: string;
  readonly jobs: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface RunScriptsPorts extends ScriptPorts {
  readonly identities: Identities;
  readonly log: Log;
  readonly supervisor: Pick<JobSupervisor, 'scriptMark'>;
}

/**
 * Runs a script of every job that has it, in parallel. Succeeds if no job has it. The processes that a script
 * leaves running may be services of its job.
 */
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
        const mark = await ports.supervisor.scriptMark(job);
        const exit = await runJobScript(ports, { job, name, environment, mark }, signal);
        if (exit.code === 0) return;
        const hint = await findHint(ports, job, name);
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

async function findHint(ports: RunScriptsPorts, job: string, name: string): Promise<string | undefined> {
  const { text } = await outputTail(join(ports.directories.log, job, `${name}.stderr.log`));
  return ownershipHint(text, ports.identities);
}
