import type { Release } from './release.ts';

export interface OpenReleaseOptions {
  readonly archivePath: string;
  /** Made when it does not exist; what it holds is replaced. The caller removes it. */
  readonly directory: string;
}

/** Unpacks and verifies a release archive. RELEASE_INVALID or DIGEST_MISMATCH name the archive, the file in it and the digests. */
export async function openRelease(options: OpenReleaseOptions): Promise<Release> {
  throw new Error(`openRelease is not written yet (${options.archivePath})`);
}
