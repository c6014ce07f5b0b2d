import type { PathSegment } from '../../platform/path-segment.ts';

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
