import type { PathSegment } from '../../platform/path-segment.ts';
import { toValue } from '../yaml/yaml-node.ts';
import type { YamlField } from '../yaml/yaml-field.ts';
import { ProductError } from '../../errors/product-error.ts';

/** The parts of a job's `job.MF` that rendering needs. */
export interface JobSpec {
  readonly name: PathSegment;
  /** The source file below `templates/`, and the destination below the job's directory. */
  readonly templates: readonly { readonly source: string; readonly destination: string }[];
  readonly packages: readonly PathSegment[];
  /** The properties by dotted name. `default` is undefined if the spec has none. */
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

export interface ReleaseJob {
  readonly name: PathSegment;
  readonly fingerprint: PathSegment;
  /** The unpacked archive: job.MF, monit, templates/. */
  readonly directory: string;
  readonly spec: JobSpec;
  /** The packages of the job in release.MF, or in the spec if release.MF has none. */
  readonly packages: readonly PathSegment[];
}

export interface ReleasePackage {
  readonly name: PathSegment;
  readonly fingerprint: PathSegment;
  /** Digest text of `archivePath`. */
  readonly digest: string;
  /** tar.gz of the source, or of the compiled content. */
  readonly archivePath: string;
  readonly dependencies: readonly PathSegment[];
  readonly compiled: boolean;
}

/** An opened release. The archives of its jobs are unpacked, and every digest has been verified. */
export interface Release {
  readonly name: PathSegment;
  readonly version: PathSegment;
  readonly jobs: readonly ReleaseJob[];
  readonly packages: readonly ReleasePackage[];
}

/** Reads a job's `spec`, which is `job.MF` in an archive. Adds problems to the field's list. */
export function readJobSpec(root: YamlField): JobSpec {
  const name = root.get('name').requiredSegment();
  const templates = root.get('templates').entries().map(([source, destination]) => ({
    source: localPath(source, destination),
    destination: localPath(destination.requiredText(), destination),
  }));
  const properties = root.get('properties').entries().map(([property, definition]) => {
    const { node } = definition.get('default');
    return [property, node === undefined ? {} : { default: toValue(node) }] as const;
  });
  return { name, templates, packages: root.get('packages').segments(), properties: Object.fromEntries(properties) };
}

/** Checks that a path stays inside the job's directory (bosh-cli: templatescompiler/job_renderer.go). */
export function localPath(path: string, field: YamlField): string {
  const leads = path.startsWith('/') || path.includes('\0') || path.split('/').includes('..');
  if (leads) field.problem(`${JSON.stringify(path)} must be a path inside its folder`);
  return path;
}

/**
 * Returns the named packages and all their dependencies, each after its own dependencies. Throws
 * RELEASE_INVALID for a missing package or a cycle.
 */
export function packagesInOrder(release: Release, names: readonly string[]): readonly ReleasePackage[] {
  const ordered = new Map<string, ReleasePackage>();
  const visit = (name: string, users: readonly string[]): void => {
    if (ordered.has(name)) return;
    if (users.includes(name)) throw invalid(release, `packages depend on each other: ${[...users, name].join(' -> ')}`);
    const found = release.packages.find((one) => one.name === name);
    if (found === undefined) throw invalid(release, `there is no package '${name}'`);
    for (const dependency of found.dependencies) visit(dependency, [...users, name]);
    ordered.set(name, found);
  };
  for (const name of names) visit(name, []);
  return [...ordered.values()];
}

/**
 * Returns the dependencies of the package, direct and indirect, each after its own dependencies. Does not
 * return the package itself.
 */
export function dependenciesOf(release: Release, name: string): readonly ReleasePackage[] {
  return packagesInOrder(release, [name]).filter((one) => one.name !== name);
}

function invalid(release: Release, message: string): ProductError {
  return new ProductError('RELEASE_INVALID', `Release '${release.name}/${release.version}': ${message}`);
}
