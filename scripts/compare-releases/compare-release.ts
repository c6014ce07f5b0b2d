import { mkdir } from 'node:fs/promises';
import { isProductError } from '../../src/errors/product-error.ts';
import { removeTree } from '../../src/platform/remove-tree.ts';
import { dirname } from 'node:path';
import { compareTemplates } from './compare-templates.ts';
import { fingerprintsOfArchive, fingerprintsOfDirectory } from './compare-fingerprints.ts';
import type { ComparedFingerprints } from './compare-fingerprints.ts';
import type { Difference } from './difference.ts';
import type { Engine } from './engines.ts';
import type { FoundRelease } from './find-releases.ts';
import { openFound } from './opened-release.ts';
import type { OpenedRelease } from './opened-release.ts';

export interface ComparedRelease {
  readonly release: string;
  readonly jobs: number;
  readonly templates: number;
  readonly rendered: number;
  readonly monitFiles: number;
  readonly fingerprints: number;
  readonly notes: readonly string[];
  readonly differences: readonly Difference[];
}

export interface Comparison {
  readonly engines: readonly Engine[];
  /** A folder that is emptied before each release. */
  readonly scratch: string;
  readonly boshCli?: string | undefined;
}

/** Compares one release. Returns undefined for an archive that is not a release. */
export async function compareRelease(
  found: FoundRelease,
  { engines, scratch, boshCli }: Comparison,
): Promise<ComparedRelease | undefined> {
  await removeTree(scratch, { within: dirname(scratch) });
  await mkdir(scratch, { mode: 0o700 });
  let release: OpenedRelease;
  try {
    release = await openFound(found, scratch);
  } catch (error) {
    if (!isProductError(error)) throw error;
    if (error.message.includes('release.MF') && error.code !== 'RELEASE_INVALID') return undefined;
    const none = { jobs: 0, templates: 0, rendered: 0, monitFiles: 0, fingerprints: 0, notes: [] };
    return { release: found.path, ...none, differences: [{ what: 'release', how: error.message }] };
  }
  const differences: Difference[] = release.refused.map(({ name, reason }) => ({
    what: `job ${name}`,
    how: reason,
  }));
  const counts = { templates: 0, rendered: 0, monitFiles: 0 };
  for (const job of release.jobs) {
    try {
      const compared = await compareTemplates(job, engines);
      differences.push(...compared.differences);
      counts.templates += compared.templates;
      counts.rendered += compared.rendered;
      counts.monitFiles += compared.monitFiles;
    } catch (error) {
      if (!isProductError(error) || error.code === 'RUBY_FAILED') throw error;
      differences.push({ what: `job ${job.name}`, how: error.message });
    }
  }
  const prints = await fingerprintsOf(found, release, { scratch, boshCli });
  const notes = prints.note === undefined ? [] : [prints.note];
  return {
    release: `${release.name}/${release.version}`,
    jobs: release.jobs.length + release.refused.length,
    ...counts,
    fingerprints: prints.compared,
    notes,
    differences: [...differences, ...prints.differences],
  };
}

async function fingerprintsOf(
  found: FoundRelease,
  release: OpenedRelease,
  { scratch, boshCli }: Pick<Comparison, 'scratch' | 'boshCli'>,
): Promise<ComparedFingerprints> {
  if (found.kind === 'archive') return fingerprintsOfArchive(release, scratch);
  if (boshCli === undefined)
    return { compared: 0, differences: [], note: 'no fingerprints: BOSH_CLI is not set' };
  return fingerprintsOfDirectory(found.path, { scratch, boshCli });
}
