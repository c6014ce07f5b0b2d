import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { compareBytes } from '../../src/bosh/archive/pack-archive.ts';
import { openRelease } from '../../src/bosh/release/open-release.ts';
import { readJobSpec, type JobSpec, type ReleasePackage } from '../../src/bosh/release/release.ts';
import { ConfigErrors, rootField } from '../../src/bosh/yaml/yaml-field.ts';
import { readYaml } from '../../src/bosh/yaml/parse-yaml.ts';
import { toValue } from '../../src/bosh/yaml/yaml-node.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { FoundRelease } from './find-releases.ts';
import type { Definitions } from './plausible-properties.ts';

export interface JobToCompare {
  readonly name: string;
  /** The directory with `monit` and `templates/`. */
  readonly directory: string;
  readonly spec: JobSpec;
  readonly definitions: Definitions;
  /** The fingerprint in release.MF; only for an archive. */
  readonly fingerprint?: string;
}

export interface OpenedRelease {
  readonly name: string;
  readonly version: string;
  readonly jobs: readonly JobToCompare[];
  /** The packages; only for an archive. */
  readonly packages: readonly ReleasePackage[];
  /** Jobs that our code rejects, with the reason. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/**
 * Opens an archive below `scratch`, or a directory in place: the packages of a directory may lack their
 * blobs.
 */
export async function openFound({ kind, path }: FoundRelease, scratch: string): Promise<OpenedRelease> {
  if (kind === 'directory') return openDirectory(path);
  const directory = join(scratch, 'release');
  const release = await openRelease({ archivePath: path, directory, within: scratch });
  const jobs: JobToCompare[] = [];
  for (const { name, directory: of, spec, fingerprint } of release.jobs) {
    const { definitions } = await readSpec(join(of, 'job.MF'));
    jobs.push({ name, directory: of, spec, fingerprint, definitions });
  }
  return { ...release, jobs, refused: [] };
}

async function openDirectory(path: string): Promise<OpenedRelease> {
  const names = await readdir(join(path, 'jobs')).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  const jobs: JobToCompare[] = [];
  const refused: { name: string; reason: string }[] = [];
  for (const name of names.toSorted(compareBytes)) {
    const directory = join(path, 'jobs', name);
    try {
      const { spec, definitions } = await readSpec(join(directory, 'spec'));
      jobs.push({ name: spec.name, directory, spec, definitions });
    } catch (error) {
      if (!isProductError(error)) throw error;
      // a file among the job directories
      if (error.code !== 'FILE_NOT_FOUND') refused.push({ name, reason: error.message });
    }
  }
  return { name: basename(path), version: 'directory', jobs, packages: [], refused };
}

async function readSpec(path: string): Promise<{ spec: JobSpec; definitions: Definitions }> {
  const node = await readYaml(path, 'RELEASE_INVALID');
  const problems = new ConfigErrors();
  const root = rootField(node, problems);
  const spec = readJobSpec(root);
  problems.throwIfAny('RELEASE_INVALID');
  const definitions = root
    .get('properties')
    .entries()
    .map(([name, field]) => [
      name,
      {
        default: valueOf(field.get('default').node),
        example: valueOf(field.get('example').node),
      },
    ]);
  return { spec, definitions: Object.fromEntries(definitions) };
}

const valueOf = (node: Parameters<typeof toValue>[0] | undefined): unknown =>
  node === undefined ? undefined : toValue(node);
