import type { AgentClient, BlobReference } from '../../bosh/agent-client/agent-client.ts';
import {
  dependenciesOf,
  packagesInOrder,
  type Release,
  type ReleasePackage,
} from '../../bosh/release/release.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { errorChain, withContext } from '../../platform/error-chain.ts';
import type { Stage, Step } from '../stage/stage.ts';
import {
  type CompiledPackageCache,
  type CompiledPackageKey,
  dependencyKey,
} from './compiled-package-cache.ts';

export interface VmCompilation {
  readonly agent: AgentClient;
  readonly cache: CompiledPackageCache;
  /** Name and version of the VM's stemcell. */
  readonly stemcell: string;
  readonly warn: (message: string) => void;
}

export interface ReleasePackages {
  readonly release: Release;
  readonly names: readonly string[];
}

/**
 * Uploads all packages that the jobs need into the agent's blobstore. Compiled packages are uploaded as they
 * are, packages of an earlier run come from the cache, and the others are compiled on the VM and cached for
 * the next run. A package name must mean one package in a deploy.
 */
export async function compilePackages(
  compilation: VmCompilation,
  stage: Stage,
  needed: readonly ReleasePackages[],
): Promise<readonly BlobReference[]> {
  const available = new Map<string, BlobReference>();
  for (const { release, names } of needed) {
    for (const source of packagesInOrder(release, names)) {
      const there = available.get(source.name);
      if (there !== undefined) {
        assertSamePackage(there, source);
        continue;
      }
      const reference = await stage.perform(
        `Compiling package '${source.name}/${source.fingerprint}'`,
        (step) => uploadOrCompile(compilation, { release, source, ready: available }, step),
      );
      available.set(source.name, reference);
    }
  }
  return [...available.values()];
}

interface PackageToProvide {
  readonly release: Release;
  readonly source: ReleasePackage;
  /** Packages that are already in the blobstore, by name. All dependencies are among them. */
  readonly ready: ReadonlyMap<string, BlobReference>;
}

async function uploadOrCompile(
  compilation: VmCompilation,
  { release, source, ready }: PackageToProvide,
  step: Step,
): Promise<BlobReference> {
  const { agent, cache, stemcell } = compilation;
  const { name, fingerprint } = source;
  const key = { name, fingerprint, dependencyKey: dependencyKey(dependenciesOf(release, name)), stemcell };
  const cached = source.compiled
    ? { path: source.archivePath, digest: source.digest }
    : await cache.find(key);
  if (cached !== undefined) {
    step.skip('Package already compiled');
    return {
      name,
      version: fingerprint,
      sha1: cached.digest,
      blobstoreId: await agent.putBlob(cached.path, step.onBytes),
    };
  }
  const blobstoreId = await agent.putBlob(source.archivePath, step.onBytes);
  const dependencies = source.dependencies.flatMap((dependency) => ready.get(dependency) ?? []);
  const compiled = await withContext(`Remotely compiling package '${name}' with the agent`, () =>
    agent.compilePackage({ name, version: fingerprint, sha1: source.digest, blobstoreId }, dependencies),
  );
  await keep(compilation, key, compiled);
  return { name, version: fingerprint, ...compiled };
}

/**
 * Adds a package to the cache. A failure is only a warning, because the deploy does not depend on the cache.
 */
async function keep(
  { agent, cache, warn }: VmCompilation,
  key: CompiledPackageKey,
  compiled: { readonly blobstoreId: string; readonly sha1: string },
): Promise<void> {
  try {
    await cache.add(key, compiled.sha1, (path) => agent.getBlob(compiled.blobstoreId, path));
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    await cache.remove(key);
    warn(
      `Package '${key.name}' could not be cached and will be compiled again next time: ${errorChain(error).join(': ')}`,
    );
  }
}

function assertSamePackage(there: BlobReference, { name, fingerprint }: ReleasePackage): void {
  if (there.version === fingerprint) return;
  throw new ProductError(
    'RELEASE_INVALID',
    `Two releases of the instance group have different packages named '${name}' (${there.version} and ${fingerprint}); a VM can have one`,
  );
}
