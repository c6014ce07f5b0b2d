import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PathSegment } from '../../platform/path-segment.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import { formatIndex, readEntries } from './part-index.ts';
import { compareReleaseVersions, parseReleaseVersion, type ReleaseVersion } from './release-version.ts';

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
