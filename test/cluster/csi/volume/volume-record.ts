import type { AccessModeName } from '../grpc/messages.ts';

/** What the controller knows of a volume; it alone writes it. The blocks are in a file beside it. */
export interface VolumeRecord {
  readonly id: string;
  readonly capacityBytes: number;
  readonly source?: ContentSource;
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly zone?: string;
  /** It is made empty each time that it comes to a node: what a test that looks for lost data has to find. */
  readonly isForgetful?: true;
  readonly publication?: Publication;
  /** How the file looked when no node had it any more: whoever changes it after that had no right to. */
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
  /** False for one of a volume that no node ever had. */
  readonly isFormatted: boolean;
  readonly createdMs: number;
}

/** What must not happen to a disk and did. */
export interface Violation {
  readonly at: string;
  readonly kind: 'taken-while-held' | 'written-at-rest';
  readonly nodeId: string;
  readonly detail: string;
  /** Where it still was mounted, each with a process that sees it: `pid 7 at /path`. */
  readonly holders: readonly string[];
}
