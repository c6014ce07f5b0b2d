import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isProductError } from '../../errors/product-error.ts';
import { ConfigErrors, rootField } from '../yaml/field.ts';
import type { Field } from '../yaml/field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';
import { localPath } from './job-spec.ts';
import { hasDigest } from './local-blobstore.ts';
import type { LocalBlobstore } from './local-blobstore.ts';
import { assertInsideRelease } from './release-boundary.ts';

/**
 * Copies the blobs of config/blobs.yml to blobs/. Only a local blobstore is supported. Throws RELEASE_INVALID
 * with each blob that is missing or corrupt, and each file in blobs/ that is not in the index: the bosh CLI
 * would remove such a file, and it could change a fingerprint.
 */
export async function syncBlobs(directory: string, blobstore: LocalBlobstore | undefined): Promise<void> {
  const index = join(directory, 'config', 'blobs.yml');
  const problems = new ConfigErrors();
  const folder = join(directory, 'blobs');
  await assertInsideRelease(directory, folder);
  const root = existsSync(index) ? rootField(await readYaml(index, 'RELEASE_INVALID'), problems) : undefined;
  const blobs = new Map(root?.entries());
  const files = await filesBelow(folder);
  const unwanted = (name: string, what: string): void =>
    problems.add({ file: index, line: 1, column: 1 }, '', `'blobs/${name}' ${what}`);
  // Reject links, because a download could be written outside of blobs/.
  for (const { name, isLink } of files) if (isLink) unwanted(name, 'is a symbolic link; put the file in its place');
  for (const [name, blob] of blobs) localPath(name, blob);
  problems.throwIfAny('RELEASE_INVALID');
  for (const [name, blob] of blobs) await syncBlob(join(folder, name), blob, blobstore);
  for (const { name } of files) {
    if (!blobs.has(name)) unwanted(name, "is not in config/blobs.yml; move it to src, or add it with 'bosh add-blob'");
  }
  problems.throwIfAny('RELEASE_INVALID');
}

async function syncBlob(path: string, blob: Field, blobstore: LocalBlobstore | undefined): Promise<void> {
  const digest = blob.get('sha').requiredText();
  if (digest === '' || (await hasDigest(path, digest))) return;
  const id = blob.get('object_id');
  if (!id.isPresent) return blob.problem(`'${path}' is missing or has another digest than ${digest}, and no object_id says where it is`);
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
async function filesBelow(folder: string): Promise<readonly FoundFile[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ name: relative(folder, join(entry.parentPath, entry.name)), isLink: entry.isSymbolicLink() }));
}
