import { persistentVolumeClaims, storageClasses } from '../../../kubernetes/resources.ts';
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

/** What may change in a claim (core/validation, ValidatePersistentVolumeClaimUpdate). */
export function checkClaimUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const before = copyJson(specOf(current));
  const after = copyJson(specOf(draft));
  // the binder names the volume, once; a class may be filled in where none was named
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

/** Down to just above what the volume has, so that a growth that no driver can do may be taken back (KEP-1790). */
function checkShrink(draft: MutableObject, current: StoredObject): Cause[] {
  const next = storageAt(draft, requestPath);
  const capacity = storageAt(current, ['status', 'capacity', 'storage']);
  return next < storageAt(current, requestPath) && next <= capacity
    ? [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')]
    : [];
}

/** A class that never came into effect may be taken back, any other only be replaced (since Kubernetes 1.34). */
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

/** Admission plugin PersistentVolumeClaimResize: a claim grows where it is bound and its class says so. Throws 403. */
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
