import type { PathSegment } from '../../platform/path-segment.ts';
import type { ValueSource } from '../yaml/yaml-node.ts';

/** Properties in the form of the manifest. */
type Properties = Readonly<Record<string, unknown>>;

/** A key of a `properties` map, or of a map in it. */
export interface GivenProperty {
  /** The dotted name, for example `hello.audience`. */
  readonly name: string;
  /** File, line, column and key. */
  readonly at: string;
  /** The keys of its value; none if the value is not a map. */
  readonly children: readonly GivenProperty[];
}

/**
 * The location of an archive. A `file` path is absolute: resolved against the manifest's directory, with `~`
 * expanded.
 */
type ArchiveLocation =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'http'; readonly url: string };

export interface ArchiveReference {
  /** The URL in the manifest. */
  readonly url: string;
  readonly location: ArchiveLocation;
  /** The digest text, which `verifyFile` accepts. Always present for `http`. */
  readonly digest?: string;
}

export interface ReleaseReference extends ArchiveReference {
  readonly name: PathSegment;
  /** File, line, column and key of its name, for errors that are found only when the release is read. */
  readonly at: string;
}

/** `env.bosh.mbus.cert`, with which the agent of the VM serves its mbus. */
export interface AgentCertificate {
  /** PEM, unchecked. */
  readonly pem: string;
  /** File, line, column and key. */
  readonly at: string;
  readonly source: ValueSource | undefined;
}

export interface ResourcePool {
  readonly name: string;
  readonly stemcell: ArchiveReference;
  readonly cloudProperties: Properties;
  readonly env: Properties;
  /** Keys of the env that have no effect, each with file, line, column, key and reason. */
  readonly unusedEnv: readonly string[];
  /** Absent if the env has no certificate with a key: the agent then has another one. */
  readonly agentCertificate?: AgentCertificate;
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
  /**
   * The position of the properties that apply to the job: its own, otherwise the group's, otherwise the
   * global ones, otherwise the position of its name.
   */
  readonly propertiesPosition: string;
  /** Absent if the job has no `properties` in the manifest: then global and group properties are used. */
  readonly properties?: Properties;
  /** The same properties with their positions; none if they are absent. */
  readonly givenProperties: readonly GivenProperty[];
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
  /** The disk pool of the group, or one made from `persistent_disk`. Absent if the group has no disk. */
  readonly diskPool?: DiskPool;
  readonly properties: Properties;
  readonly givenProperties: readonly GivenProperty[];
}

export interface CloudProvider {
  /** File, line, column and key. */
  readonly at: string;
  readonly templates: readonly {
    readonly name: PathSegment;
    readonly release: string;
    readonly at: string;
  }[];
  readonly propertiesPosition: string;
  /** File, line, column and key of the mbus. */
  readonly mbusAt: string;
  /** Contains user and password, so it is a secret. */
  readonly mbus: string;
  /** PEM. */
  readonly ca?: string;
  readonly properties: Properties;
  readonly givenProperties: readonly GivenProperty[];
}

/** A create-env manifest that has been checked (bosh-cli: deployment/manifest, installation/manifest). */
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
  readonly tagPositions: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly updateWatchTime: { readonly start: number; readonly end: number };
  readonly cloudProvider: CloudProvider;
}
