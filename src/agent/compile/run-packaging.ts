import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';
import { errorCode } from '../file/error-code.ts';
import { describeExit } from '../process/program.ts';
import type { ProgramExit, Programs } from '../process/program.ts';
import { runProgram } from '../process/run-program.ts';
import { scriptPath } from '../script/job-script.ts';
import { ownershipHint } from '../user/ownership-hint.ts';
import type { Identities } from '../user/identities.ts';
import { outputTail } from '../file/output-tail.ts';

export interface PackagingRequest {
  readonly name: string;
  readonly version: string;
  /** The directory of the unpacked source, in which the script runs. */
  readonly source: string;
  /** The directory into which the script installs. */
  readonly target: string;
}

export interface PackagingPorts {
  readonly programs: Programs;
  readonly clock: Clock;
  readonly directories: Directories;
  readonly identities: Identities;
}

/**
 * Runs `bash -x packaging` in the unpacked source (bosh-agent: agent/compiler/compiler_unix.go). A package
 * without that script installs nothing. Throws AGENT_COMPILATION_FAILED with the exit status and the ends of
 * stdout and stderr.
 */
export async function runPackaging(
  ports: PackagingPorts,
  request: PackagingRequest,
  signal: AbortSignal,
): Promise<void> {
  if (!(await exists(join(request.source, 'packaging')))) return;
  const log = join(ports.directories.agentLog, 'compilation', request.name);
  await rm(log, { recursive: true, force: true });
  await mkdir(log, { recursive: true, mode: 0o750 });
  const paths = { stdout: join(log, 'packaging.stdout.log'), stderr: join(log, 'packaging.stderr.log') };
  const exit = await runPackagingScript(ports, request, paths, signal);
  if (exit.code !== 0) throw await packagingFailed(request, exit, paths, ports.identities);
}

async function runPackagingScript(
  ports: PackagingPorts,
  request: PackagingRequest,
  paths: { readonly stdout: string; readonly stderr: string },
  signal: AbortSignal,
): Promise<ProgramExit> {
  await using stdout = await open(paths.stdout, 'w', 0o640);
  await using stderr = await open(paths.stderr, 'w', 0o640);
  return await runProgram(
    ports,
    {
      file: 'bash',
      arguments: ['-x', 'packaging'],
      directory: request.source,
      environment: {
        PATH: scriptPath,
        BOSH_COMPILE_TARGET: request.source,
        BOSH_INSTALL_TARGET: request.target,
        BOSH_PACKAGE_NAME: request.name,
        BOSH_PACKAGE_VERSION: request.version,
      },
      stdout: stdout.fd,
      stderr: stderr.fd,
    },
    signal,
  );
}

async function packagingFailed(
  request: PackagingRequest,
  exit: ProgramExit,
  paths: { readonly stdout: string; readonly stderr: string },
  identities: Identities,
): Promise<ProductError> {
  const stdout = await outputTail(paths.stdout);
  const stderr = await outputTail(paths.stderr);
  // The agent's log keeps only the first line, so the output begins on the next one.
  return new ProductError(
    'AGENT_COMPILATION_FAILED',
    `Compiling package ${request.name}/${request.version}: Command ${describeExit(exit)};\n` +
      `${stdout.isTruncated ? 'Truncated stdout' : 'Stdout'}: ${stdout.text},\n` +
      `${stderr.isTruncated ? 'Truncated stderr' : 'Stderr'}: ${stderr.text}` +
      (ownershipHint(stderr.text, identities) ?? ''),
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
