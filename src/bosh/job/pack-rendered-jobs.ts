import type { RenderedJob } from './render-job.ts';

export interface PackedJobs {
  /** `sha256:<hex>` of the archive. */
  readonly digest: string;
  /** Hex; the same for the same rendered content. */
  readonly configurationHash: string;
}

/** Writes a tar.gz (mode 0600) with a top-level folder per job, as an agent wants it; same content, same bytes. */
export async function packRenderedJobs(jobs: readonly RenderedJob[], outFile: string): Promise<PackedJobs> {
  throw new Error(`packRenderedJobs is not written yet (${jobs.length}, ${outFile})`);
}
