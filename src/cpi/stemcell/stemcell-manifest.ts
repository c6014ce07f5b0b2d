import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigErrors, rootField } from '../../bosh/yaml/yaml-field.ts';
import { readYaml } from '../../bosh/yaml/parse-yaml.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { type Architecture, architectureIn } from './stemcell-cid.ts';

/** The description of a heavy stemcell. */
export interface StemcellDescription {
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** The digest of the image in stemcell.MF. */
  readonly digest: string | undefined;
}

/**
 * Reads stemcell.MF beside the image, to which both BOSH callers unpack it, and cloud_properties.
 * STEMCELL_INVALID for a manifest that cannot be read, INVALID_ARGUMENT for an architecture that stemcells
 * are not for.
 */
export async function describeStemcell(
  imagePath: string,
  properties: JsonObject,
): Promise<StemcellDescription> {
  const manifestPath = join(dirname(imagePath), 'stemcell.MF');
  const manifest = (await isFile(manifestPath)) ? await readManifest(manifestPath) : undefined;
  return {
    name: textOf(properties['name']) ?? manifest?.name ?? 'stemcell',
    version: textOf(properties['version']) ?? manifest?.version ?? '0',
    architecture: architectureOf(properties['architecture']),
    digest: manifest?.digest,
  };
}

/**
 * Returns the architecture. A heavy stemcell that names none is for x86. The image that is published names
 * it, too, so it must be correct.
 */
function architectureOf(value: unknown): Architecture {
  if (value === undefined || value === null) return 'amd64';
  const known = architectureIn(value);
  if (known !== undefined) return known;
  const field = new Field(value, 'create_stemcell.cloud_properties.architecture', 'INVALID_ARGUMENT');
  throw field.error('of a heavy stemcell must be amd64, x86_64, arm64 or aarch64');
}

interface ManifestFields {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly digest: string | undefined;
}

async function readManifest(path: string): Promise<ManifestFields> {
  const problems = new ConfigErrors();
  const root = rootField(await readYaml(path, 'STEMCELL_INVALID'), problems);
  const fields = {
    name: root.get('name').text(),
    version: root.get('version').text(),
    digest: root.get('sha1').text(),
  };
  problems.throwIfAny('STEMCELL_INVALID');
  return fields;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
