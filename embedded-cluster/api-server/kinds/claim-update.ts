import { persistentVolumeClaims, storageClasses } from '../../../src/kubernetes/resources.ts';
import { forbidden } from '../errors/status-errors.ts';
import { forbiddenField } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { copyJson, isRecord, jsonEqual } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { valueAt, stringAt } from './columns.ts';
import type { AdmissionContext, MutableObject } from './kind.ts';
import { parseQuantity } from './quantity.ts';

const requestPath = ['spec', 'resources', 'requests', 'storage'];

/**
 * Returns the causes for changes of a claim that are not allowed (core/validation,
 * ValidatePersistentVolumeClaimUpdate).
 */
export function checkClaimUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const before = copyJson(specOf(current));
  const after = copyJson(specOf(draft));
  // The binder sets the volume name once; a class may be set if the claim had none.
  if (before['volumeName'] === undefined) delete after['volumeName'];
  if (before['storageClassName'] === undefined) delete after['storageClassName'];
  if (isBound(current)) {
    for (const field of ['volumeAttributesClassName', 'resources']) {
      delete before[field];
      delete after[field];
    }
  }
  if (!jsonEqual(before, after)) {
    return [
      forbiddenField(
        'spec',
        'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
      ),
    ];
  }
  return [...checkShrink(draft, current), ...checkAttributesClass(draft, current)];
}

/**
 * A request may shrink, but must stay above the capacity of the volume, so that an expansion that the driver
 * cannot do can be reverted (KEP-1790).
 */
function checkShrink(draft: MutableObject, current: StoredObject): Cause[] {
  const next = storageAt(draft, requestPath);
  const capacity = storageAt(current, ['status', 'capacity', 'storage']);
  return next < storageAt(current, requestPath) && next <= capacity
    ? [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')]
    : [];
}

/**
 * A class that never took effect may be removed; any other class may only be replaced (since Kubernetes
 * 1.34).
 */
function checkAttributesClass(draft: MutableObject, current: StoredObject): Cause[] {
  const field = 'spec.volumeAttributesClassName';
  const [before, after] = [current, draft].map((object) => stringAt(object, field.split('.')));
  if (before === '' || after !== '') return [];
  return stringAt(current, ['status', 'currentVolumeAttributesClassName']) === ''
    ? []
    : [
        forbiddenField(
          field,
          'update to nil is forbidden when status.currentVolumeAttributesClassName is not nil',
        ),
      ];
}

/**
 * Applies the admission plugin PersistentVolumeClaimResize: a bound claim may grow if its class allows
 * expansion. Throws ApiError 403.
 */
export function admitClaimUpdate(
  draft: MutableObject,
  current: StoredObject,
  context: AdmissionContext,
): void {
  if (storageAt(draft, requestPath) <= storageAt(current, requestPath)) return;
  const name = stringAt(draft, ['spec', 'storageClassName']);
  const storageClass = context.list(storageClasses).find(({ metadata }) => metadata.name === name);
  if (storageClass?.['allowVolumeExpansion'] === true) return;
  throw forbidden(
    persistentVolumeClaims,
    current.metadata.name,
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  );
}

function isBound(claim: StoredObject): boolean {
  return stringAt(claim, ['status', 'phase']) === 'Bound';
}

function specOf(claim: StoredObject | MutableObject): JsonRecord {
  return isRecord(claim['spec']) ? claim['spec'] : {};
}

function storageAt(claim: StoredObject, path: readonly string[]): bigint {
  const size = valueAt(claim, ...path);
  return (typeof size === 'string' ? parseQuantity(size) : undefined) ?? 0n;
}
