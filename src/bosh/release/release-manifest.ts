import { join } from 'node:path';
import type { PathSegment } from '../../platform/path-segment.ts';
import { Problems, rootField } from '../yaml/field.ts';
import type { Field } from '../yaml/field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';

export interface ReleasePart {
  readonly name: PathSegment;
  readonly fingerprint: PathSegment;
  /** Digest text. */
  readonly digest: string;
}

export interface PackagePart extends ReleasePart {
  readonly dependencies: readonly PathSegment[];
  readonly compiled: boolean;
}

/** release.MF (bosh-cli: release/manifest/release.go). */
export interface ReleaseManifest {
  readonly name: PathSegment;
  readonly version: PathSegment;
  readonly jobs: readonly (ReleasePart & { readonly packages: readonly PathSegment[] })[];
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
    name: root.get('name').requiredSegment(),
    version: root.get('version').requiredSegment(),
    jobs: root.get('jobs').items().map((field) => ({ ...readPart(field), packages: field.get('packages').segments() })),
    packages,
  };
  problems.throwIfAny('RELEASE_INVALID');
  return manifest;
}

function readPackage(field: Field, compiled: boolean): PackagePart {
  const dependencies = field.get('dependencies').segments();
  return { ...readPart(field), dependencies, compiled };
}

function readPart(field: Field): ReleasePart {
  const fingerprint = field.get(field.get('fingerprint').given ? 'fingerprint' : 'version').requiredSegment();
  return { name: field.get('name').requiredSegment(), fingerprint, digest: field.get('sha1').requiredText() };
}
