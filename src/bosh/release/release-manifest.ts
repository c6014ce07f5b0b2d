import { join } from 'node:path';
import type { PathSegment } from '../../platform/path-segment.ts';
import { ConfigErrors, rootField } from '../yaml/yaml-field.ts';
import type { YamlField } from '../yaml/yaml-field.ts';
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
  /** `os/version` of the stemcell on which a compiled package was compiled. */
  readonly stemcell: string | undefined;
}

/** release.MF (bosh-cli: release/manifest/release.go). */
export interface ReleaseManifest {
  readonly name: PathSegment;
  readonly version: PathSegment;
  readonly jobs: readonly (ReleasePart & { readonly packages: readonly PathSegment[] })[];
  readonly packages: readonly PackagePart[];
  readonly license: Omit<ReleasePart, 'name'> | undefined;
  /** Empty if the manifest has none. */
  readonly commitHash: string;
  readonly uncommittedChanges: boolean;
  readonly noCompression: boolean;
}

/** Reads `release.MF` of an unpacked release. Throws RELEASE_INVALID with a line per error. */
export function readReleaseManifest(directory: string): Promise<ReleaseManifest> {
  return readReleaseManifestFile(join(directory, 'release.MF'));
}

/** Reads a release manifest from any file, for example from `releases/NAME`. */
export async function readReleaseManifestFile(path: string): Promise<ReleaseManifest> {
  const problems = new ConfigErrors();
  const root = rootField(await readYaml(path, 'RELEASE_INVALID'), problems);
  const packages = [
    ...root.get('packages').items().map((field) => readPackage(field, false)),
    ...root.get('compiled_packages').items().map((field) => readPackage(field, true)),
  ];
  const manifest = {
    name: root.get('name').requiredSegment(),
    version: root.get('version').requiredSegment(),
    jobs: root.get('jobs').items().map((field) => ({ ...readPart(field), packages: field.get('packages').segments() })),
    packages,
    license: root.get('license').isPresent ? readDigests(root.get('license')) : undefined,
    commitHash: root.get('commit_hash').text() ?? '',
    uncommittedChanges: root.get('uncommitted_changes').boolean() === true,
    noCompression: root.get('no_compression').boolean() === true,
  };
  problems.throwIfAny('RELEASE_INVALID');
  return manifest;
}

function readPackage(field: YamlField, compiled: boolean): PackagePart {
  const dependencies = field.get('dependencies').segments();
  return { ...readPart(field), dependencies, compiled, stemcell: field.get('stemcell').text() };
}

function readPart(field: YamlField): ReleasePart {
  return { name: field.get('name').requiredSegment(), ...readDigests(field) };
}

function readDigests(field: YamlField): Omit<ReleasePart, 'name'> {
  const fingerprint = field.get(field.get('fingerprint').isPresent ? 'fingerprint' : 'version').requiredSegment();
  return { fingerprint, digest: field.get('sha1').requiredText() };
}
