import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import { secretsInFlags } from '../../errors/redact/secret-strings.ts';
import { openVariables, type VariableOptions } from '../variables/open-variables.ts';
import { ConfigErrors, rootField } from '../yaml/yaml-field.ts';
import { toGoYaml } from '../yaml/go-yaml.ts';
import { describeKind, describePosition, toValue } from '../yaml/yaml-node.ts';
import { interpolate } from './interpolate.ts';
import type { Manifest } from './manifest.ts';
import { readWithOps } from './ops-file.ts';
import { readManifest } from './read-manifest.ts';
import { withoutCpiCredentials } from './without-cpi-credentials.ts';

export interface LoadManifestOptions extends VariableOptions {
  readonly path: string;
  /** `-o path`; applied in order before interpolation. */
  readonly opsFiles?: readonly string[] | undefined;
}

export interface LoadedManifest {
  readonly manifest: Manifest;
  /** The interpolated manifest, byte for byte as `bosh interpolate` prints it. It contains secrets. */
  readonly text: string;
  /** Hex SHA-512 of `text`: `current_manifest_sha` of the state file. */
  readonly sha512: string;
  /** The hex SHA-512 of the manifest without the CPI's credentials (see withoutCpiCredentials). */
  readonly sha512WithoutCredentials: string;
}

/**
 * Reads, patches, interpolates and checks a create-env manifest. Throws MANIFEST_INVALID with a line per
 * error, each with file, line, column and key path (in an ops file: operation and path). Writes nothing but
 * the vars store. The vars store is written even if the manifest is invalid, as in bosh, because its values
 * stay usable.
 */
export async function loadManifest(options: LoadManifestOptions): Promise<LoadedManifest> {
  const problems = new ConfigErrors();
  const document = await readWithOps(options.path, options.opsFiles);
  if (document.kind === 'scalar' && document.value === null)
    throw new ProductError('MANIFEST_INVALID', `${options.path}: the manifest is empty`);
  if (document.kind !== 'map') {
    const message = `${describePosition(document.position)}: must be a map, found ${describeKind(document)}`;
    throw new ProductError('MANIFEST_INVALID', message);
  }
  const node = await interpolate(document, (await openVariables(options)).source, problems);
  options.onSecrets?.(secretsInFlags(toValue(node)));
  const manifest = readManifest(rootField(node, problems), options.path);
  problems.throwIfAny('MANIFEST_INVALID');
  if (manifest === undefined) throw new Error('a manifest without an instance group has no problem');
  const text = toGoYaml(node);
  const sha512WithoutCredentials = sha512Of(toGoYaml(withoutCpiCredentials(node)));
  return { manifest, text, sha512: sha512Of(text), sha512WithoutCredentials };
}

const sha512Of = (text: string): string => createHash('sha512').update(text).digest('hex');
