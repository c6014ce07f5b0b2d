import { join } from 'node:path';
import { Problems, rootField } from '../yaml/field.ts';
import type { Field } from '../yaml/field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';

export interface ReleasePart {
  readonly name: string;
  readonly fingerprint: string;
  /** Digest text. */
  readonly digest: string;
}

export interface PackagePart extends ReleasePart {
  readonly dependencies: readonly string[];
  readonly compiled: boolean;
  readonly stemcell?: string;
}

/** release.MF (bosh-cli: release/manifest/release.go). */
export interface ReleaseManifest {
  readonly name: string;
  readonly version: string;
  readonly jobs: readonly (ReleasePart & { readonly packages: readonly string[] })[];
  readonly packages: readonly PackagePart[];
}

/** Reads `release.MF` of an unpacked release. RELEASE_INVALID with a line per fault. */
export async function readReleaseManifest(directory: string): Promise<ReleaseManifest> {
  const problems = new Problems();
  const root = rootField(await readYaml(join(directory, 'release.MF'), 'RELEASE_INVALID'), problems);
  const packages = [
    ...root.get('packages').items().map((field) => readPackage(field, false)),
    ...root.get('compiled_packages').items().map((field) => readPackage(field, true)),
  ];
  const manifest = {
    name: root.get('name').requiredText(),
    version: root.get('version').requiredText(),
    jobs: root.get('jobs').items().map((field) => ({ ...readPart(field), packages: field.get('packages').texts() })),
    packages,
  };
  problems.throwIfAny('RELEASE_INVALID');
  return manifest;
}

function readPackage(field: Field, compiled: boolean): PackagePart {
  const stemcell = compiled ? field.get('stemcell').text() : undefined;
  const dependencies = field.get('dependencies').texts();
  return { ...readPart(field), dependencies, compiled, ...(stemcell === undefined ? {} : { stemcell }) };
}

function readPart(field: Field): ReleasePart {
  const name = field.get('name');
  const file = name.requiredText();
  if (file.includes('/') || file === '..') name.problem(`'${file}' cannot be the name of a file`);
  const fingerprint = field.get('fingerprint').text() ?? field.get('version').requiredText();
  return { name: file, fingerprint, digest: field.get('sha1').requiredText() };
}
