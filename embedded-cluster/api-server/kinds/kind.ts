import type { Resource } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { Cause } from '../errors/field-causes.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { User } from '../access/user.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { TokenKey } from '../tokens/json-web-token.ts';
import type { NameRule } from './checks.ts';

/** A decoded, private copy of an object that admission may change. */
export type MutableObject = JsonRecord & { metadata: StoredObject['metadata'] };

/** The part of the server that admission may read. */
export interface AdmissionContext {
  /** The time of the server's clock, RFC 3339 with seconds. */
  readonly now: string;
  list(resource: Resource): readonly StoredObject[];
  /** Returns five random characters for the end of a generated name. */
  randomSuffix(): string;
}

/** The parts of the server that a review needs: the caller, the store, the clock and the token key. */
export interface ReviewContext {
  readonly registry: { readonly store: ObjectStore; readonly clock: Clock; readonly tokenKey: TokenKey };
  readonly user: User;
}

/** A column of `kubectl get`. Columns with priority 1 are shown with `-o wide` only. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly priority: number;
  readonly description: string;
  /** Returns the value. `now` is in milliseconds since the epoch, for ages. */
  readonly cell: (object: StoredObject, now: number) => string | number | boolean | null;
}

/**
 * Everything that distinguishes one kind of object from another (in Kubernetes: strategy, validation,
 * printer).
 */
export interface Kind {
  readonly resource: Resource;
  readonly name: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly schema: ObjectSchema;
  /**
   * True for kinds that are custom resources in other clusters and behave so here: no strategic merge, and
   * updates need a resourceVersion.
   */
  readonly isCustomResource?: true;
  /** True if `/status` is served; the main resource then does not write `status`. */
  readonly hasStatus: boolean;
  /** True if metadata.generation counts changes of all fields except metadata and status. */
  readonly countsGenerations: boolean;
  readonly nameRule: NameRule;
  /** The columns of `kubectl get`. Absent: name and age. */
  readonly columns?: readonly Column[];
  /** Sets defaults. Runs on every write, so it must not change fields that are set. */
  readonly fillDefaults?: (draft: MutableObject) => void;
  /** Strategy and admission of a create, before validation. Throws ApiError to reject the object. */
  readonly prepareCreate?: (draft: MutableObject, context: AdmissionContext) => void;
  /** Copies from the stored object the fields that an update cannot change. */
  readonly prepareUpdate?: (draft: MutableObject, current: StoredObject, context: AdmissionContext) => void;
  readonly validate: (draft: MutableObject) => Cause[];
  /** Returns warnings about a new, valid object for its author (in Kubernetes: WarningsOnCreate). */
  readonly warningsOnCreate?: (draft: MutableObject) => readonly string[];
  /**
   * A review kind: POST returns the object with `status` filled; nothing is stored, and no other verb is
   * served.
   */
  readonly review?: (draft: MutableObject, context: ReviewContext) => JsonRecord;
  readonly validateUpdate?: (draft: MutableObject, current: StoredObject) => Cause[];
  /** Admission of a valid update of the main resource. Throws ApiError to reject the update. */
  readonly admitUpdate?: (draft: MutableObject, current: StoredObject, context: AdmissionContext) => void;
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectableFields?: (object: StoredObject) => Record<string, string>;
  /** Finalizers that the kind has outside of metadata (a Namespace's `spec.finalizers`). */
  readonly ownFinalizers?: (object: StoredObject) => readonly string[];
  /** Throws ApiError if the object may never be deleted. */
  readonly assertDeletable?: (object: StoredObject) => void;
  /** Makes further changes to an object when its deletion begins. */
  readonly prepareDelete?: (draft: MutableObject) => void;
  /**
   * Returns the seconds between the delete request and the removal of the object. Absent: the object is
   * removed at once.
   */
  readonly gracePeriod?: (object: StoredObject, requested: number | undefined) => number;
}
