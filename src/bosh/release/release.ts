import type { PathSegment } from '../../platform/path-segment.ts';

/** What a job's `job.MF` says, as far as rendering needs it. */
export interface JobSpec {
  readonly name: PathSegment;
  /** Source file under `templates/` and destination under the job's folder. */
  readonly templates: readonly { readonly source: string; readonly destination: string }[];
  readonly packages: readonly PathSegment[];
  /** By dotted name; `default` is undefined where the spec has none. */
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

export interface ReleaseJob {
  readonly name: PathSegment;
  readonly fingerprint: PathSegment;
  /** The unpacked archive: job.MF, monit, templates/. */
  readonly directory: string;
  readonly spec: JobSpec;
  /** Packages that release.MF names for the job; the spec's where release.MF has none. */
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

/** An opened release: the archives of its jobs are unpacked, and every digest was verified. */
export interface Release {
  readonly name: PathSegment;
  readonly version: PathSegment;
  readonly jobs: readonly ReleaseJob[];
  readonly packages: readonly ReleasePackage[];
}
