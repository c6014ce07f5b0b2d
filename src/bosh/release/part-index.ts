import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { PathSegment } from '../../platform/path-segment.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import { compareBytes } from '../archive/pack-archive.ts';
import { ConfigErrors, rootField } from '../yaml/yaml-field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';
import { assertInsideRelease } from './release-directory.ts';
import type { PartKind, SourcePart } from './release-parts.ts';
import { compareReleaseVersions, parseReleaseVersion, type ReleaseVersion } from './release-version.ts';

/** The location of a part's archive. */
export interface PartEntry {
  /** The digest text, which is the archive's name in the cache (~/.bosh/cache). */
  readonly digest: PathSegment;
  /** The id in the release's blobstore, for a final build. */
  readonly blobId: PathSegment | undefined;
}

type Entries = ReadonlyMap<string, Readonly<Record<string, string>>>;

const directories: Readonly<Record<PartKind, string>> = { job: 'jobs', package: 'packages', license: 'license' };

/**
 * `.dev_builds` or `.final_builds` of a release directory: the index of the packed parts (bosh-cli:
 * releasedir/index/fs_index.go).
 */
export class PartIndex {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the entry of a part. Throws RELEASE_INVALID if the index does not have the bosh CLI's format. */
  async find(part: Pick<SourcePart, 'kind' | 'name' | 'fingerprint'>): Promise<PartEntry | undefined> {
    const path = this.#pathOf(part);
    if (!existsSync(path)) return undefined;
    const problems = new ConfigErrors();
    const builds = rootField(await readYaml(path, 'RELEASE_INVALID'), problems).get('builds').entries();
    const found = builds.find(([, entry]) => entry.get('version').requiredText() === part.fingerprint)?.[1];
    const entry = found && {
      digest: found.get('sha1').requiredSegment(),
      blobId: found.get('blobstore_id').isPresent ? found.get('blobstore_id').requiredSegment() : undefined,
    };
    problems.throwIfAny('RELEASE_INVALID');
    return entry;
  }

  /** Adds the entry, or replaces the one with the same fingerprint. Does not change the others. */
  async set(part: Pick<SourcePart, 'kind' | 'name' | 'fingerprint'>, { digest, blobId }: PartEntry): Promise<void> {
    const path = this.#pathOf(part);
    const blob = blobId === undefined ? {} : { blobstore_id: blobId };
    const entries = new Map([...(await readEntries(path))].filter(([, { version }]) => version !== part.fingerprint));
    entries.set(part.fingerprint, { version: part.fingerprint, ...blob, sha1: digest });
    await assertInsideRelease(dirname(this.#directory), dirname(path));
    await mkdir(dirname(path), { recursive: true });
    replaceFile(path, formatIndex(entries), 0o644);
  }

  #pathOf({ kind, name }: Pick<SourcePart, 'kind' | 'name'>): string {
    const directory = join(this.#directory, directories[kind]);
    return kind === 'license' ? join(directory, 'index.yml') : join(directory, name, 'index.yml');
  }
}

/**
 * Returns the entries of an index file by key, with the strings of each. Returns an empty map if the file
 * does not exist.
 */
async function readEntries(path: string): Promise<Entries> {
  if (!existsSync(path)) return new Map();
  const problems = new ConfigErrors();
  const builds = rootField(await readYaml(path, 'RELEASE_INVALID'), problems).get('builds').entries();
  const entries = builds.map(([key, entry]) => {
    const texts = entry.entries().map(([name, value]) => [name, value.requiredText()] as const);
    return [key, Object.fromEntries(texts)] as const;
  });
  problems.throwIfAny('RELEASE_INVALID');
  return new Map(entries);
}

/** Returns the text of an index file, sorted as the bosh CLI does. */
function formatIndex(entries: Entries): string {
  const sorted = [...entries].toSorted(([a], [b]) => compareBytes(a, b));
  return stringify({ builds: Object.fromEntries(sorted), 'format-version': '2' }, { version: '1.1', lineWidth: 0 });
}

/** `dev_releases` or `releases` of a release directory (bosh-cli: releasedir/fs_release_index.go). */
export class ReleaseIndex {
  readonly #directory: string;
  readonly #newId: () => string;

  constructor(directory: string, newId: () => string) {
    this.#directory = directory;
    this.#newId = newId;
  }

  /**
   * Returns true if the version exists. Throws RELEASE_INVALID if the index does not have the bosh CLI's
   * format.
   */
  async contains(name: PathSegment, version: string): Promise<boolean> {
    return (await this.#versions(name)).includes(version);
  }

  /** Returns the highest version. Ignores entries that are not valid versions. */
  async lastVersion(name: PathSegment): Promise<ReleaseVersion | undefined> {
    const versions = (await this.#versions(name)).flatMap((text) => parseReleaseVersion(text) ?? []);
    return versions.toSorted(compareReleaseVersions).at(-1);
  }

  /**
   * Writes the release's manifest and then the index, so that a run that is interrupted between the two can
   * be repeated.
   */
  async add(name: PathSegment, version: PathSegment, manifest: string): Promise<void> {
    const path = this.#indexPath(name);
    const entries = new Map(await readEntries(path));
    entries.set(this.#newId(), { version });
    await mkdir(dirname(path), { recursive: true });
    replaceFile(this.manifestPath(name, version), manifest, 0o644);
    replaceFile(path, formatIndex(entries), 0o644);
  }

  manifestPath(name: PathSegment, version: PathSegment): string {
    return join(this.#directory, name, `${name}-${version}.yml`);
  }

  #indexPath(name: PathSegment): string {
    return join(this.#directory, name, 'index.yml');
  }

  async #versions(name: PathSegment): Promise<readonly string[]> {
    return [...(await readEntries(this.#indexPath(name))).values()].flatMap(({ version }) => version ?? []);
  }
}
