import type { ObjectMeta } from '../../../src/kubernetes/object.ts';
import { forbiddenField, invalidValue, unsupported, required, type Cause } from '../errors/field-causes.ts';
import { jsonEqual } from '../schema/json.ts';
import type { MutableObject, Kind } from './kind.ts';
import { checkAnnotations, checkLabels, checkName, checkQualifiedName } from './checks.ts';

/** Returns the causes for the metadata of any kind (apimachinery pkg/api/validation/objectmeta.go). */
export function checkMetadata(kind: Kind, { metadata }: MutableObject): Cause[] {
  const at = 'metadata';
  return [
    ...(metadata.name === ''
      ? [required(`${at}.name`, 'name or generateName is required')]
      : checkName(`${at}.name`, metadata.name, kind.nameRule)),
    ...checkLabels(`${at}.labels`, metadata.labels),
    ...checkAnnotations(`${at}.annotations`, metadata.annotations),
    ...(metadata.finalizers ?? []).flatMap((name) => checkFinalizer(kind, `${at}.finalizers`, name)),
    ...checkOwnerReferences(`${at}.ownerReferences`, metadata),
  ];
}

/** Returns the causes for changes of metadata that no update may make. */
export function checkMetadataUpdate({ metadata }: MutableObject, current: ObjectMeta): Cause[] {
  const present = new Set(current.finalizers);
  const added = (metadata.finalizers ?? []).filter((name) => !present.has(name));
  if (current.deletionTimestamp === undefined || added.length === 0) return [];
  const list = added.map((name) => `"${name}"`).join(', ');
  return [
    forbiddenField(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ];
}

/**
 * Returns a cause for an update that changes deletionTimestamp. An update without it keeps the stored one.
 */
export function checkDeletionTime({ metadata }: MutableObject, current: ObjectMeta): Cause[] {
  const { deletionTimestamp: requested } = metadata;
  if (requested === undefined || requested === current.deletionTimestamp) return [];
  return [invalidValue('metadata.deletionTimestamp', requested, 'field is immutable')];
}

function checkFinalizer(kind: Kind, field: string, name: string): Cause[] {
  // No controller here would ever remove these finalizers.
  if (name === 'orphan' || name === 'foregroundDeletion')
    return [unsupported(field, `the finalizer ${name}`)];
  const causes = checkQualifiedName(field, name);
  // Only the core group requires the prefix (pkg/apis/core/validation validateKubeFinalizerName).
  if (kind.resource.group !== '') return causes;
  if (causes.length > 0 || name.includes('/') || name === 'kubernetes') return causes;
  return [invalidValue(field, name, 'name is neither a standard finalizer name nor is it fully qualified')];
}

function checkOwnerReferences(field: string, metadata: ObjectMeta): Cause[] {
  const owners = metadata.ownerReferences ?? [];
  const causes = owners.flatMap((owner, index) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((key) => owner[key] === undefined || owner[key] === '')
      .map((key) => invalidValue(`${field}[${index}].${key}`, '', `${key} must not be empty`)),
  );
  const banned = owners.filter(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Event');
  causes.push(
    ...banned.map((owner) => invalidValue(field, owner, '/v1, Kind=Event is disallowed from being an owner')),
  );
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length < 2) return causes;
  const names = controllers.map((owner) => owner.name).join(' and ');
  return [
    ...causes,
    invalidValue(
      field,
      owners,
      `Only one reference can have Controller set to true. Found "true" in references for ${names}`,
    ),
  ];
}

/** Returns one Invalid cause if an immutable field has changed. */
export function checkImmutable(field: string, next: unknown, current: unknown): Cause[] {
  return jsonEqual(next, current) ? [] : [invalidValue(field, next ?? null, 'field is immutable')];
}
