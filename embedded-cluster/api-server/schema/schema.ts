/**
 * The fields of a kind that this server supports. One description serves the strict decoder, strategic merge
 * (`merge`), OpenAPI (kubectl explain, apply) and the tests. Fields that are not described are rejected.
 */
export type Schema =
  | { readonly type: 'string' }
  | { readonly type: 'integer' }
  | { readonly type: 'boolean' }
  | { readonly type: 'integerOrText' }
  | { readonly type: 'time' }
  | { readonly type: 'quantity' }
  | { readonly type: 'base64' }
  | { readonly type: 'anything' }
  | { readonly type: 'map'; readonly values: Schema }
  | ListSchema
  | ObjectSchema;

export interface ListSchema {
  readonly type: 'list';
  readonly items: Schema;
  /**
   * How strategic merge joins two lists: by this key of the items, or as a set of scalars. Absent: the patch
   * replaces the list.
   */
  readonly merge?: { readonly key: string } | 'set';
}

export interface ObjectSchema {
  readonly type: 'object';
  readonly fields: Readonly<Record<string, Schema>>;
}

export const string: Schema = { type: 'string' };
export const integer: Schema = { type: 'integer' };
/** intstr.IntOrString. */
export const integerOrText: Schema = { type: 'integerOrText' };
export const boolean: Schema = { type: 'boolean' };
export const time: Schema = { type: 'time' };
export const quantity: Schema = { type: 'quantity' };
export const base64: Schema = { type: 'base64' };
export const any: Schema = { type: 'anything' };

export const mapOf = (values: Schema): Schema => ({ type: 'map', values });
export const fields = (described: Record<string, Schema>): ObjectSchema => ({
  type: 'object',
  fields: described,
});
export const array = (items: Schema, merge?: ListSchema['merge']): ListSchema => ({
  type: 'list',
  items,
  ...(merge === undefined ? {} : { merge }),
});

const ownerReference = fields({
  apiVersion: string,
  kind: string,
  name: string,
  uid: string,
  controller: boolean,
  blockOwnerDeletion: boolean,
});

/** apimachinery ObjectMeta. `managedFields` is accepted and dropped. */
const objectMeta = fields({
  name: string,
  generateName: string,
  namespace: string,
  uid: string,
  resourceVersion: string,
  generation: integer,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  selfLink: string,
  labels: mapOf(string),
  annotations: mapOf(string),
  finalizers: array(string, 'set'),
  ownerReferences: array(ownerReference, { key: 'uid' }),
  managedFields: any,
});

/** Returns the schema of a kind: apiVersion, kind, metadata and the given fields. */
export const kindSchema = (described: Record<string, Schema>): ObjectSchema =>
  fields({ apiVersion: string, kind: string, metadata: objectMeta, ...described });

const requirement = fields({ key: string, operator: string, values: array(string) });

/** v1.NodeSelectorTerm */
export const nodeSelectorTerm = fields({
  matchExpressions: array(requirement),
  matchFields: array(requirement),
});

/** v1.NodeSelector */
export const nodeSelector = fields({ nodeSelectorTerms: array(nodeSelectorTerm) });

/** metav1.LabelSelector */
export const labelSelector = fields({ matchLabels: mapOf(string), matchExpressions: array(requirement) });
