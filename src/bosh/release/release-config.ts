import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigErrors, rootField } from '../yaml/field.ts';
import type { Field } from '../yaml/field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';

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
  const former = final.get('final_name');
  if (name.isPresent && former.isPresent) former.problem("stands beside 'name'; keep one of them");
  const blobstore = final.get('blobstore');
  const config = {
    name: (former.isPresent ? former : name).requiredSegment(),
    noCompression: final.get('no_compression').boolean() === true,
    blobstore: blobstore.isPresent ? readBlobstore(directory, blobstore, own) : undefined,
  };
  problems.throwIfAny('RELEASE_INVALID');
  return config;
}

function readBlobstore(directory: string, field: Field, own: Field | undefined): ReleaseConfig['blobstore'] {
  const provider = field.get('provider').requiredText();
  if (provider !== 'local') return { provider, localPath: undefined };
  const path = (from: Field): Field => from.get('options').get('blobstore_path');
  const overriding = own === undefined ? undefined : path(own.get('blobstore'));
  const chosen = overriding?.isPresent === true ? overriding : path(field);
  return { provider, localPath: resolve(directory, chosen.requiredText()) };
}

async function readRoot(path: string, problems: ConfigErrors): Promise<Field> {
  return rootField(await readYaml(path, 'RELEASE_INVALID'), problems);
}
