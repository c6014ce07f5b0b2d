import type { AccessModeName } from '../grpc/messages.ts';

/** The controller's record of a volume. Only the controller writes it. The blocks are in a file beside it. */
export interface VolumeRecord {
  readonly id: string;
  readonly capacityBytes: number;
  readonly source?: ContentSource;
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly zone?: string;
  /** The volume is emptied whenever a node stages it. A test that looks for lost data must detect this. */
  readonly isForgetful?: true;
  readonly publication?: Publication;
  /**
   * The state of the file when no node had it any more. Any later change before the next publish is a
   * violation.
   */
  readonly atRest?: FileState;
}

export type ContentSource =
  | { readonly kind: 'snapshot'; readonly id: string }
  | { readonly kind: 'volume'; readonly id: string };

interface Publication {
  readonly nodeId: string;
  readonly readonly: boolean;
  readonly mode: AccessModeName;
}

export interface FileState {
  readonly size: string;
  readonly modifiedNs: string;
}

export interface SnapshotRecord {
  readonly id: string;
  readonly volumeId: string;
  readonly sizeBytes: number;
  /** False for a snapshot of a volume that no node has had. */
  readonly isFormatted: boolean;
  readonly createdMs: number;
}

/** Something that must never happen to a disk and did. */
export interface Violation {
  readonly at: string;
  readonly kind: 'taken-while-held' | 'written-at-rest';
  readonly nodeId: string;
  readonly detail: string;
  /** The paths where the disk was still mounted, each with a process that sees it: `pid 7 at /path`. */
  readonly holders: readonly string[];
}
