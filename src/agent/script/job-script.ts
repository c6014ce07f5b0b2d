import { mkdir, open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';
import { errorCode } from '../file/error-code.ts';
import type { ProgramExit, Programs } from '../process/program.ts';
import { runProgram } from '../process/run-program.ts';

// the four system folders, whatever the agent's own PATH is (bosh-agent: agent/script/pathenv)
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
  /** An open file for stdout instead of the log. */
  readonly stdout?: FileHandle;
}

/** True when the job has such a script. */
export async function hasScript(job: string, name: string, directories: Directories): Promise<boolean> {
  try {
    return (await stat(scriptFile(job, name, directories))).isFile();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Runs a job's script; its output is appended to sys/log/<job>/<script>.{stdout,stderr}.log. */
export async function runJobScript(
  ports: ScriptPorts,
  request: JobScriptRequest,
  signal: AbortSignal,
): Promise<ProgramExit> {
  const log = join(ports.directories.log, request.job);
  await mkdir(log, { recursive: true, mode: 0o750 });
  await using stdout = request.stdout === undefined ? await openLog(log, request.name, 'stdout') : undefined;
  await using stderr = await openLog(log, request.name, 'stderr');
  return await runProgram(
    ports,
    {
      file: scriptFile(request.job, request.name, ports.directories),
      arguments: request.arguments ?? [],
      environment: { PATH: scriptPath, ...request.environment },
      stdout: (request.stdout ?? stdout)?.fd ?? stderr.fd,
      stderr: stderr.fd,
    },
    signal,
  );
}

function scriptFile(job: string, name: string, directories: Directories): string {
  return join(directories.jobs, job, 'bin', name);
}

function openLog(folder: string, name: string, stream: string): Promise<FileHandle> {
  return open(join(folder, `${name}.${stream}.log`), 'a', 0o640);
}
