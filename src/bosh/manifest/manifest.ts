import type { PathSegment } from '../../platform/path-segment.ts';

/** Properties as a manifest has them. */
type Properties = Readonly<Record<string, unknown>>;

/** Where an archive comes from. A `file` path is absolute: resolved against the manifest's folder, `~` expanded. */
type ArchiveLocation =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'http'; readonly url: string };

export interface ArchiveReference {
  /** As the manifest has it. */
  readonly url: string;
  readonly location: ArchiveLocation;
  /** Digest text, `verifyFile` reads it. Always there for `http`. */
  readonly digest?: string;
}

export interface ReleaseReference extends ArchiveReference {
  readonly name: PathSegment;
  /** File, line, column and key of its name, for what is wrong only in view of the release. */
  readonly at: string;
}

export interface ResourcePool {
  readonly name: string;
  readonly stemcell: ArchiveReference;
  readonly cloudProperties: Properties;
  readonly env: Properties;
  /** Keys of the env without effect, each with file, line, column and key, and why. */
  readonly unusedEnv: readonly string[];
}

export interface DiskPool {
  readonly name: string;
  /** MiB. */
  readonly diskSize: number;
  readonly cloudProperties: Properties;
}

export type Network = ManualNetwork | DynamicNetwork | VipNetwork;

export interface ManualNetwork {
  readonly type: 'manual';
  readonly name: string;
  readonly range: string;
  readonly gateway: string;
  readonly netmask: string;
  readonly dns: readonly string[];
  readonly cloudProperties: Properties;
}

interface DynamicNetwork {
  readonly type: 'dynamic';
  readonly name: string;
  readonly dns: readonly string[];
  readonly cloudProperties: Properties;
}

interface VipNetwork {
  readonly type: 'vip';
  readonly name: string;
  readonly cloudProperties: Properties;
}

export interface JobReference {
  readonly name: PathSegment;
  readonly release: string;
  /** File, line, column and key of its name. */
  readonly at: string;
  /** Of the properties that it sees: its own, else the group's, else the global ones; its name where there are none. */
  readonly propertiesAt: string;
  /** Absent when the manifest has no `properties` on this job: then global and group properties count. */
  readonly properties?: Properties;
}

export interface GroupNetwork {
  /** File, line, column and key. */
  readonly at: string;
  readonly name: string;
  readonly staticIps: readonly string[];
  readonly defaults: readonly ('dns' | 'gateway')[];
}

export interface InstanceGroup {
  readonly name: string;
  readonly jobs: readonly JobReference[];
  readonly networks: readonly GroupNetwork[];
  readonly resourcePool: string;
  /** The pool it names, or one made from `persistent_disk`; absent when the group has no disk. */
  readonly diskPool?: DiskPool;
  readonly properties: Properties;
}

export interface CloudProvider {
  /** File, line, column and key. */
  readonly at: string;
  readonly templates: readonly {
    readonly name: PathSegment;
    readonly release: string;
    readonly at: string;
  }[];
  readonly propertiesAt: string;
  /** File, line, column and key of the mbus. */
  readonly mbusAt: string;
  /** With user and password: a secret. */
  readonly mbus: string;
  /** PEM. */
  readonly ca?: string;
  readonly properties: Properties;
}

/** A create-env manifest whose rules were checked (reference: bosh-cli deployment/manifest, installation/manifest). */
export interface Manifest {
  readonly name: string;
  readonly releases: readonly ReleaseReference[];
  readonly networks: readonly Network[];
  /** create-env deploys exactly one group of one instance. */
  readonly instanceGroup: InstanceGroup;
  /** The resource pool of the group. */
  readonly resourcePool: ResourcePool;
  readonly properties: Properties;
  readonly tags: Readonly<Record<string, string>>;
  /** File, line, column and key of each tag. */
  readonly tagPlaces: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly updateWatchTime: { readonly start: number; readonly end: number };
  readonly cloudProvider: CloudProvider;
}
