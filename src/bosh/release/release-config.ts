import { existsSync } from 'node:fs';
import { join, resolve, relative } from 'node:path';
import { ConfigErrors, rootField, type YamlField } from '../yaml/yaml-field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';
import { readdir } from 'node:fs/promises';
import { isProductError } from '../../errors/product-error.ts';
import { localPath } from './release.ts';
import { hasDigest, type LocalBlobstore } from './local-blobstore.ts';
import { assertInsideRelease } from './release-directory.ts';

/** The content of config/final.yml and config/private.yml of a release directory. */
export interface ReleaseConfig {
  readonly name: string;
  readonly noCompression: boolean;
  /** The blobstore of the archives of final releases and of the blobs. Undefined if the release has none. */
  readonly blobstore: { readonly provider: string; readonly localPath: string | undefined } | undefined;
}

/**
 * Reads the configuration (bosh-cli: releasedir/fs_config.go). Throws RELEASE_INVALID with a line per error.
 */
export async function readReleaseConfig(directory: string): Promise<ReleaseConfig> {
  const problems = new ConfigErrors();
  const final = await readRoot(join(directory, 'config', 'final.yml'), problems);
  const privatePath = join(directory, 'config', 'private.yml');
  const own = existsSync(privatePath) ? await readRoot(privatePath, problems) : undefined;
  const name = final.get('name');
  const previous = final.get('final_name');
  if (name.isPresent && previous.isPresent) previous.problem("cannot be used together with 'name'; keep one of them");
  const blobstore = final.get('blobstore');
  const config = {
    name: (previous.isPresent ? previous : name).requiredSegment(),
    noCompression: final.get('no_compression').boolean() === true,
    blobstore: blobstore.isPresent ? readBlobstore(directory, blobstore, own) : undefined,
  };
  problems.throwIfAny('RELEASE_INVALID');
  return config;
}

function readBlobstore(directory: string, field: YamlField, own: YamlField | undefined): ReleaseConfig['blobstore'] {
  const provider = field.get('provider').requiredText();
  if (provider !== 'local') return { provider, localPath: undefined };
  const path = (from: YamlField): YamlField => from.get('options').get('blobstore_path');
  const overriding = own === undefined ? undefined : path(own.get('blobstore'));
  const chosen = overriding?.isPresent === true ? overriding : path(field);
  return { provider, localPath: resolve(directory, chosen.requiredText()) };
}

async function readRoot(path: string, problems: ConfigErrors): Promise<YamlField> {
  return rootField(await readYaml(path, 'RELEASE_INVALID'), problems);
}

/**
 * Copies the blobs of config/blobs.yml to blobs/. Only a local blobstore is supported. Throws RELEASE_INVALID
 * with each blob that is missing or corrupt, and each file in blobs/ that is not in the index: the bosh CLI
 * would remove such a file, and it could change a fingerprint.
 */
export async function syncBlobs(directory: string, blobstore: LocalBlobstore | undefined): Promise<void> {
  const index = join(directory, 'config', 'blobs.yml');
  const problems = new ConfigErrors();
  const blobsDirectory = join(directory, 'blobs');
  await assertInsideRelease(directory, blobsDirectory);
  const root = existsSync(index) ? rootField(await readYaml(index, 'RELEASE_INVALID'), problems) : undefined;
  const blobs = new Map(root?.entries());
  const files = await filesBelow(blobsDirectory);
  const unwanted = (name: string, what: string): void =>
    problems.add({ file: index, line: 1, column: 1 }, '', `'blobs/${name}' ${what}`);
  // Reject links, because a download could be written outside of blobs/.
  for (const { name, isLink } of files) if (isLink) unwanted(name, 'is a symbolic link; replace it with the file');
  for (const [name, blob] of blobs) localPath(name, blob);
  problems.throwIfAny('RELEASE_INVALID');
  for (const [name, blob] of blobs) await syncBlob(join(blobsDirectory, name), blob, blobstore);
  for (const { name } of files) {
    if (!blobs.has(name)) unwanted(name, "is not in config/blobs.yml; move it to src, or add it with 'bosh add-blob'");
  }
  problems.throwIfAny('RELEASE_INVALID');
}

async function syncBlob(path: string, blob: YamlField, blobstore: LocalBlobstore | undefined): Promise<void> {
  const digest = blob.get('sha').requiredText();
  if (digest === '' || (await hasDigest(path, digest))) return;
  const id = blob.get('object_id');
  if (!id.isPresent) return blob.problem(`'${path}' is missing or has another digest than ${digest}, and it has no object_id`);
  if (blobstore === undefined)
    return blob.problem("it has to be downloaded, and config/final.yml names no blobstore of the provider 'local'; run 'bosh sync-blobs'");
  try {
    await blobstore.get(id.requiredSegment(), digest, path);
  } catch (error) {
    if (!isProductError(error)) throw error;
    blob.problem(error.message);
  }
}

interface FoundFile {
  /** The path relative to the directory. */
  readonly name: string;
  readonly isLink: boolean;
}

/** Returns an empty list if the directory does not exist. */
async function filesBelow(directory: string): Promise<readonly FoundFile[]> {
  if (!existsSync(directory)) return [];
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ name: relative(directory, join(entry.parentPath, entry.name)), isLink: entry.isSymbolicLink() }));
}
