/**
 * The messages of csi.proto as the handlers read and write them (proto-loader: with defaults, int64 as
 * decimal text, enums as their names, and the member that is set of a oneof).
 */
export interface VolumeCapability {
  readonly block?: object | null;
  readonly mount?: { readonly fsType?: string; readonly mountFlags?: readonly string[] } | null;
  readonly accessMode?: { readonly mode: AccessModeName } | null;
}

export type AccessModeName =
  | 'UNKNOWN'
  | 'SINGLE_NODE_WRITER'
  | 'SINGLE_NODE_READER_ONLY'
  | 'MULTI_NODE_READER_ONLY'
  | 'MULTI_NODE_SINGLE_WRITER'
  | 'MULTI_NODE_MULTI_WRITER'
  | 'SINGLE_NODE_SINGLE_WRITER'
  | 'SINGLE_NODE_MULTI_WRITER';

export interface CapacityRange {
  readonly requiredBytes?: string | number;
  readonly limitBytes?: string | number;
}

export interface VolumeContentSource {
  readonly snapshot?: { readonly snapshotId: string } | null;
  readonly volume?: { readonly volumeId: string } | null;
}

interface Topology {
  readonly segments: Readonly<Record<string, string>>;
}

interface TopologyRequirement {
  readonly requisite?: readonly Topology[];
  readonly preferred?: readonly Topology[];
}

export interface CsiVolume {
  readonly volumeId: string;
  readonly capacityBytes: string | number;
  readonly volumeContext?: Readonly<Record<string, string>>;
  readonly contentSource?: VolumeContentSource | null;
  readonly accessibleTopology?: readonly Topology[];
}

export interface CsiSnapshot {
  readonly snapshotId: string;
  readonly sourceVolumeId: string;
  readonly sizeBytes: string | number;
  readonly creationTime: { readonly seconds: string | number; readonly nanos: number };
  readonly readyToUse: boolean;
}

export interface CreateVolumeRequest {
  readonly name: string;
  readonly capacityRange?: CapacityRange | null;
  readonly volumeCapabilities: readonly VolumeCapability[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly volumeContentSource?: VolumeContentSource | null;
  readonly accessibilityRequirements?: TopologyRequirement | null;
  readonly mutableParameters?: Readonly<Record<string, string>>;
}

export interface VolumeRequest {
  readonly volumeId: string;
}

export interface PublishRequest extends VolumeRequest {
  readonly nodeId: string;
  readonly volumeCapability?: VolumeCapability | null;
  readonly readonly?: boolean;
}

export interface UnpublishRequest extends VolumeRequest {
  readonly nodeId: string;
}

export interface ValidateRequest extends VolumeRequest {
  readonly volumeCapabilities: readonly VolumeCapability[];
}

export interface ExpandRequest extends VolumeRequest {
  readonly capacityRange?: CapacityRange | null;
}

export interface ModifyRequest extends VolumeRequest {
  readonly mutableParameters: Readonly<Record<string, string>>;
}

export interface CreateSnapshotRequest {
  readonly sourceVolumeId: string;
  readonly name: string;
}

export interface ListSnapshotsRequest {
  readonly maxEntries?: number;
  readonly startingToken?: string;
  readonly sourceVolumeId?: string;
  readonly snapshotId?: string;
}

export interface StageRequest extends VolumeRequest {
  readonly stagingTargetPath: string;
  readonly volumeCapability?: VolumeCapability | null;
}

export interface UnstageRequest extends VolumeRequest {
  readonly stagingTargetPath: string;
}

export interface NodePublishRequest extends StageRequest {
  readonly targetPath: string;
  readonly readonly?: boolean;
}

export interface NodeUnpublishRequest extends VolumeRequest {
  readonly targetPath: string;
}

export interface NodePathRequest extends VolumeRequest {
  readonly volumePath: string;
}
