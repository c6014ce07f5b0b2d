import { stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';
import type { ProgramExit, Programs } from '../process/program.ts';
import { runProgram } from '../process/run-program.ts';

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
    request.stdout === undefined ? await log.file(`${name}.stdout.log`, 'append') : undefined;
  await using stderr =
    request.stderr === undefined ? await log.file(`${name}.stderr.log`, 'append') : undefined;
  return await runProgram(
    ports,
    {
      file: scriptFile(request.job, request.name, ports.directories),
      arguments: request.arguments ?? [],
      environment: { PATH: scriptPath, ...request.environment },
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
