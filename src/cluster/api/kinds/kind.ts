import type { Resource } from '../../../kubernetes/api.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import type { Cause } from '../errors/field-causes.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { User } from '../access/user.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { TokenKey } from '../tokens/token-key.ts';
import type { NameRule } from './names.ts';

/** An object on its way into the store: decoded, its own copy, free to be changed. */
export type MutableObject = JsonRecord & { metadata: StoredObject['metadata'] };

/** What admission may look at. */
export interface AdmissionContext {
  /** RFC 3339 with seconds, the server's clock. */
  readonly now: string;
  list(resource: Resource): readonly StoredObject[];
  /** Five random characters, as generated names end with. */
  randomSuffix(): string;
}

/** Whom and what a question is about: the part of the registry, which holds the kinds, that an answer looks at. */
export interface ReviewContext {
  readonly registry: { readonly store: ObjectStore; readonly clock: Clock; readonly tokenKey: TokenKey };
  readonly user: User;
}

/** A column of `kubectl get`; priority 1 shows with `-o wide` only. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly priority: number;
  readonly description: string;
  /** `now` in milliseconds since the epoch, for ages. */
  readonly cell: (object: StoredObject, now: number) => string | number | boolean | null;
}

/** Everything that tells one kind of object from another (in Kubernetes: strategy, validation, printer). */
export interface Kind {
  readonly resource: Resource;
  readonly name: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly schema: ObjectSchema;
  /** A custom resource in other clusters, so here as there: no strategic merge, and updates need a resourceVersion. */
  readonly isCustomResource?: true;
  /** `/status` is served, and the main resource does not write `status`. */
  readonly hasStatus: boolean;
  /** metadata.generation counts changes of all but metadata and status. */
  readonly countsGenerations: boolean;
  readonly nameRule: NameRule;
  readonly columns: readonly Column[];
  /** Fills what was left out; on every write, so it must not overrule what is there. */
  readonly fillDefaults?: (draft: MutableObject) => void;
  /** Strategy and admission of a create, before validation. Throws ApiError to refuse. */
  readonly prepareCreate?: (draft: MutableObject, context: AdmissionContext) => void;
  /** Takes over from the present object what an update cannot touch. */
  readonly prepareUpdate?: (draft: MutableObject, current: StoredObject, context: AdmissionContext) => void;
  readonly validate: (draft: MutableObject) => Cause[];
  /** What the author of a new, valid object should hear and may not expect (in Kubernetes: WarningsOnCreate). */
  readonly warningsOnCreate?: (draft: MutableObject) => readonly string[];
  /** A question and no object: a create gets its answer as status, nothing is stored, no other verb is served. */
  readonly review?: (draft: MutableObject, context: ReviewContext) => JsonRecord;
  readonly validateUpdate?: (draft: MutableObject, current: StoredObject) => Cause[];
  /** Admission of a valid update of the main resource. Throws ApiError to refuse. */
  readonly admitUpdate?: (draft: MutableObject, current: StoredObject, context: AdmissionContext) => void;
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectableFields?: (object: StoredObject) => Record<string, string>;
  /** Finalizers that the kind keeps outside of metadata (a Namespace's `spec.finalizers`). */
  readonly ownFinalizers?: (object: StoredObject) => readonly string[];
  /** Throws ApiError for an object that may never be deleted. */
  readonly assertDeletable?: (object: StoredObject) => void;
  /** What else changes in an object whose deletion begins. */
  readonly prepareDelete?: (draft: MutableObject) => void;
  /** Seconds between a delete and the end of the object; absent: none, gone at once. */
  readonly gracePeriod?: (object: StoredObject, requested: number | undefined) => number;
}
