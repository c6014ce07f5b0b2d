import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bundle, BundleCollection } from '../apply/bundle-collection.ts';
import { installPackage } from '../apply/install-spec.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import { sha1OfFile } from '../blob/digest.ts';
import { removeTree } from '../file/directory-handle.ts';
import { createArchive, extractArchive } from '../file/archive.ts';
import type { ApplySpec, PackageSpec } from '../apply/spec.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { errorCode } from '../file/error-code.ts';
import { describeExit, type ProgramExit, type Programs, runAgentProgram } from '../process/programs.ts';
import { scriptPath } from '../script/job-script.ts';
import { ownershipHint, type Identities } from '../user/identities.ts';
import { outputTail } from '../file/files.ts';

export interface CompilationRequest {
  /** Name, version, and blob and digest of the source. */
  readonly source: PackageSpec;
  /** All compiled packages that the package needs. */
  readonly dependencies: readonly PackageSpec[];
  /** The spec in use. Its packages stay. */
  readonly applied: ApplySpec;
}

/** The parts of the agent that a compilation uses. */
export interface CompilationPorts extends PackagingPorts {
  readonly blobs: BlobStore;
  readonly bundles: BundleCollection;
}

/**
 * Compiles a package as a BOSH VM does (bosh-agent: agent/compiler/concrete_compiler.go): installs the
 * dependencies, unpacks the source in data/compile/<package>, runs `bash -x packaging`, and stores the result
 * as a blob. Returns the blob's id and its bare SHA-1. Even after a failure, /var/vcap/packages has the
 * packages of the applied spec again.
 */
export async function compilePackage(
  ports: CompilationPorts,
  request: CompilationRequest,
  signal: AbortSignal,
): Promise<{ readonly blobId: string; readonly sha1: string }> {
  const { bundles, directories } = ports;
  const applied = bundles.all(request.applied).packages;
  const source = join(directories.compile, request.source.name);
  try {
    return await compileInto(ports, request, { applied, source }, signal);
  } finally {
    await removeTree(source);
    await bundles.linkPackages(applied);
    await bundles.removeUnusedPackages(applied);
  }
}

async function compileInto(
  ports: CompilationPorts,
  request: CompilationRequest,
  { applied, source }: { readonly applied: readonly Bundle[]; readonly source: string },
  signal: AbortSignal,
): Promise<{ readonly blobId: string; readonly sha1: string }> {
  const { blobs, bundles, directories } = ports;
  const { name, version, blobId, digest } = request.source;
  const archive = await blobs.verified(blobId, digest, `source of package '${name}'`);
  const dependencies: Bundle[] = [];
  for (const dependency of request.dependencies) dependencies.push(await installPackage(dependency, ports));
  const result = bundles.compilationTarget(name);
  for (const path of [source, result.installPath]) await makeEmpty(path);
  await extractArchive(archive, source);
  const compiled = [...dependencies, result];
  const replaced = new Set(compiled.map((bundle) => bundle.name));
  await bundles.linkPackages([...applied.filter((bundle) => !replaced.has(bundle.name)), ...compiled]);
  await runPackaging(ports, { name, version, source, target: join(directories.packages, name) }, signal);
  return storeResult(blobs, result.installPath);
}

async function storeResult(
  blobs: BlobStore,
  directory: string,
): Promise<{ readonly blobId: string; readonly sha1: string }> {
  const blob = await blobs.create((path) => createArchive(directory, path));
  return { blobId: blob.id, sha1: await sha1OfFile(blob.path) };
}

async function makeEmpty(path: string): Promise<void> {
  await removeTree(path);
  await mkdir(path, { recursive: true, mode: 0o755 });
}

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
  if (!(await isFile(join(request.source, 'packaging')))) return;
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
  return await runAgentProgram(
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

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
