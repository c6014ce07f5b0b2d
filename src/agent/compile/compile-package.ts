import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { collectBundles, linkBundles } from '../apply/bundle.ts';
import type { Bundle } from '../apply/bundle.ts';
import { installPackage } from '../apply/install-spec.ts';
import { bundlesOf, packageBundle } from '../apply/spec-bundles.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import { sha1OfFile } from '../blob/digest.ts';
import { removeTree } from '../file/directory-handle.ts';
import { createArchive, extractArchive } from '../file/archive.ts';
import type { ApplySpec, PackageSpec } from '../spec/apply-spec.ts';
import { runPackaging } from './run-packaging.ts';
import type { PackagingPorts } from './run-packaging.ts';

export interface CompilationRequest {
  /** Name, version, and blob and digest of the source. */
  readonly source: PackageSpec;
  /** All compiled packages that the package needs. */
  readonly dependencies: readonly PackageSpec[];
  /** The spec in use. Its packages stay. */
  readonly applied: ApplySpec;
}

/**
 * Compiles a package as a BOSH VM does (bosh-agent: agent/compiler/concrete_compiler.go): installs the
 * dependencies, unpacks the source in data/compile/<package>, runs `bash -x packaging`, and stores the result
 * as a blob. Returns the blob's id and its bare SHA-1. Even after a failure, /var/vcap/packages has the
 * packages of the applied spec again.
 */
export async function compilePackage(
  ports: PackagingPorts & { readonly blobs: BlobStore },
  request: CompilationRequest,
  signal: AbortSignal,
): Promise<{ readonly blobId: string; readonly sha1: string }> {
  const { directories } = ports;
  const applied = bundlesOf(request.applied, directories).packages;
  const source = join(directories.compile, request.source.name);
  try {
    return await compileInto(ports, request, { applied, source }, signal);
  } finally {
    await removeTree(source);
    await linkBundles(directories.packages, applied);
    await collectBundles(directories.dataPackages, applied);
  }
}

async function compileInto(
  ports: PackagingPorts & { readonly blobs: BlobStore },
  request: CompilationRequest,
  paths: { readonly applied: readonly Bundle[]; readonly source: string },
  signal: AbortSignal,
): Promise<{ readonly blobId: string; readonly sha1: string }> {
  const { blobs, directories } = ports;
  const { name, version, blobId, digest } = request.source;
  const archive = await blobs.verified(blobId, digest, `source of package '${name}'`);
  const needed: Bundle[] = [];
  for (const dependency of request.dependencies) {
    await installPackage(dependency, ports);
    needed.push(packageBundle(dependency, directories));
  }
  const result: Bundle = {
    name,
    installPath: join(directories.dataPackages, name, 'compiling'),
    linkPath: join(directories.packages, name),
  };
  for (const path of [paths.source, result.installPath]) await makeEmpty(path);
  await extractArchive(archive, paths.source);
  const named = new Set([...needed, result].map((bundle) => bundle.name));
  const rest = paths.applied.filter((bundle) => !named.has(bundle.name));
  await linkBundles(directories.packages, [...rest, ...needed, result]);
  await runPackaging(ports, { name, version, source: paths.source, target: result.linkPath }, signal);
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
