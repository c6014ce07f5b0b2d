import { join } from 'node:path';
import { loadManifest, type LoadedManifest } from '../../bosh/manifest/load-manifest.ts';
import { manifestWarnings } from '../../bosh/manifest/manifest-warnings.ts';
import type { Manifest, ReleaseReference } from '../../bosh/manifest/manifest.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { ArchiveCatalog } from '../archive/archive-catalog.ts';
import { DigestCache } from '../archive/digest-cache.ts';
import { locateArchive, type ArchiveContext } from '../archive/download-archive.ts';
import { readReleaseArchive, type ReleaseArchive } from '../archive/release-archive.ts';
import { readStemcellArchive, type StemcellArchive } from '../archive/stemcell-archive.ts';
import type { InstallationDirectory } from '../install/installation-directory.ts';
import type { EnvOptions, EnvPorts } from '../options.ts';
import type { Stage } from '../stage/stage.ts';
import { findCpiJob, checkJobs } from './check-jobs.ts';
import { unknownProperties } from './unknown-properties.ts';

/** Everything that is needed to call the manifest's CPI. */
export interface ValidInstallation extends LoadedManifest {
  readonly releases: readonly ReleaseArchive[];
  readonly cpiJob: { readonly name: PathSegment; readonly release: string };
}

export interface ValidDeployment extends ValidInstallation {
  readonly stemcell: StemcellArchive;
}

export interface Validation {
  readonly options: EnvOptions;
  readonly ports: EnvPorts;
  readonly directory: InstallationDirectory;
}

/**
 * Validates everything that a deploy needs from files, in bosh's order. Changes only the vars store and the
 * download cache.
 */
export async function validateDeployment(
  stage: Stage,
  validation: Validation,
  checkManifest?: (manifest: Manifest) => void,
): Promise<ValidDeployment> {
  return stage.performComplex('validating', async (group) => {
    const loaded = await load(validation);
    const { manifest } = loaded;
    checkManifest?.(manifest);
    for (const warning of manifestWarnings(manifest)) validation.ports.warn(warning);
    const archives = await openArchives(group, validation);
    const releases = await readReleases(manifest.releases, archives);
    const summaries = releases.map(({ summary }) => summary);
    const cpiJob = await group.perform('Validating cpi release', async () => findCpiJob(manifest, summaries));
    await group.perform('Validating deployment manifest', async () => checkJobs(manifest, summaries));
    for (const warning of unknownProperties(manifest, summaries)) validation.ports.warn(warning);
    const reference = manifest.resourcePool.stemcell;
    const path = await locateArchive(reference, 'stemcell', archives);
    const stemcell = await group.perform('Validating stemcell', () =>
      readStemcellArchive({ ...archives, path, digest: reference.digest }),
    );
    return { ...loaded, releases, cpiJob, stemcell };
  });
}

/** Validates only the manifest, which is enough for talking to the agent. */
export async function validateManifest(stage: Stage, validation: Validation): Promise<Manifest> {
  return stage.performComplex('validating', (group) =>
    group.perform('Validating deployment manifest', async () => (await load(validation)).manifest),
  );
}

/**
 * Validates what is needed to call the CPI. Reads no release except the CPI's own (bosh-cli
 * cmd/deployment_deleter.go).
 */
export async function validateInstallation(stage: Stage, validation: Validation): Promise<ValidInstallation> {
  return stage.performComplex('validating', async (group) => {
    const loaded = await load(validation);
    const { releases: references, cloudProvider } = loaded.manifest;
    const names = new Set(cloudProvider.templates.map(({ release }) => release));
    const archives = await openArchives(group, validation);
    const releases = await readReleases(
      references.filter(({ name }) => names.has(name)),
      archives,
    );
    const cpiJob = await group.perform('Validating cpi release', async () =>
      findCpiJob(
        loaded.manifest,
        releases.map(({ summary }) => summary),
      ),
    );
    return { ...loaded, releases, cpiJob };
  });
}

function load({ options, ports }: Validation): Promise<LoadedManifest> {
  return loadManifest({
    ...options,
    path: options.manifestPath,
    now: () => new Date(ports.clock.now()),
    environment: ports.environment,
  });
}

interface Archives extends ArchiveContext {
  readonly catalog: ArchiveCatalog;
  readonly directory: string;
}

async function openArchives(stage: Stage, { options, ports, directory }: Validation): Promise<Archives> {
  return {
    stage,
    downloadDirectory: join(options.workspace, 'downloads'),
    signal: options.signal,
    catalog: await ArchiveCatalog.open(directory.catalog),
    digests: await DigestCache.open(directory.digests, () => ports.clock.now()),
    directory: directory.temporary,
  };
}

async function readReleases(
  references: readonly ReleaseReference[],
  archives: Archives,
): Promise<ReleaseArchive[]> {
  const releases: ReleaseArchive[] = [];
  for (const reference of references) {
    const path = await locateArchive(reference, `release '${reference.name}'`, archives);
    releases.push(
      await archives.stage.perform(`Validating release '${reference.name}'`, () =>
        readReleaseArchive({ ...archives, reference, path }),
      ),
    );
  }
  return releases;
}
