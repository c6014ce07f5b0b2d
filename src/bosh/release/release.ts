/** What a job's `job.MF` says, as far as rendering needs it. */
export interface JobSpec {
  readonly name: string;
  /** Source file under `templates/` and destination under the job's folder. */
  readonly templates: readonly { readonly source: string; readonly destination: string }[];
  readonly packages: readonly string[];
  /** By dotted name; `default` is undefined where the spec has none. */
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

export interface ReleaseJob {
  readonly name: string;
  readonly fingerprint: string;
  /** Digest text of `archivePath`. */
  readonly digest: string;
  readonly archivePath: string;
  /** The unpacked archive: job.MF, monit, templates/. */
  readonly directory: string;
  readonly spec: JobSpec;
  /** Packages that release.MF names for the job; the spec's where release.MF has none. */
  readonly packages: readonly string[];
}

export interface ReleasePackage {
  readonly name: string;
  readonly fingerprint: string;
  /** Digest text of `archivePath`. */
  readonly digest: string;
  /** tar.gz of the source, or of the compiled content. */
  readonly archivePath: string;
  readonly dependencies: readonly string[];
  readonly compiled: boolean;
  /** `os/version`; compiled packages only. */
  readonly stemcell?: string;
}

/** An opened release: every archive is unpacked below `directory` and its digest was verified. */
export interface Release {
  readonly name: string;
  readonly version: string;
  readonly directory: string;
  readonly jobs: readonly ReleaseJob[];
  readonly packages: readonly ReleasePackage[];
}
