export interface PackReleaseOptions {
  /** A BOSH release directory: config/final.yml, jobs/, packages/, src/, blobs/. */
  readonly directory: string;
  readonly version: string;
  /** Default: `name` (or `final_name`) of config/final.yml. */
  readonly name?: string;
  /** Written whole or not at all. */
  readonly outFile: string;
  /** Default `non-git`, uncommitted false. */
  readonly commit?: { readonly hash: string; readonly uncommittedChanges: boolean };
}

export interface PackedReleasePart {
  readonly name: string;
  readonly fingerprint: string;
  readonly digest: string;
}

export interface PackedRelease {
  readonly name: string;
  readonly version: string;
  readonly jobs: readonly PackedReleasePart[];
  readonly packages: readonly PackedReleasePart[];
  /** `sha256:<hex>` of `outFile`. */
  readonly digest: string;
}

/**
 * Makes the archive that `bosh create-release --tarball` makes, with the same fingerprints; the same input gives the same
 * bytes. RELEASE_INVALID names the file of the release directory that is wrong.
 */
export async function packRelease(options: PackReleaseOptions): Promise<PackedRelease> {
  throw new Error(`packRelease is not written yet (${options.directory})`);
}
