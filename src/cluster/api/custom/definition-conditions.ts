import { asDefinition } from './definition.ts';
import type { CustomResourceDefinition, DefinitionCondition } from './definition.ts';
import type { StoredObject } from '../store/stored-object.ts';

const at = (
  time: string,
  type: string,
  status: 'True' | 'False',
  reason: string,
  message: string,
): DefinitionCondition => ({ type, status, reason, message, lastTransitionTime: time });

/**
 * NamesAccepted and Established of a definition among the others: no two of a group may share a name
 * (apiextensions pkg/controller/status/naming_controller.go). `time`: RFC 3339.
 */
export function namingConditions(
  definition: CustomResourceDefinition,
  others: readonly StoredObject[],
  time: string,
): readonly DefinitionCondition[] {
  const taken = others
    .map(asDefinition)
    .filter(
      ({ spec, metadata }) =>
        spec.group === definition.spec.group && metadata.name !== definition.metadata.name,
    )
    .flatMap(({ status }) => namesOf(status?.acceptedNames));
  const kinds = others
    .map(asDefinition)
    .filter(
      ({ spec, metadata }) =>
        spec.group === definition.spec.group && metadata.name !== definition.metadata.name,
    )
    .flatMap(({ status }) => [status?.acceptedNames?.kind, status?.acceptedNames?.listKind]);
  const { names } = definition.spec;
  const clash =
    namesOf(names).find((name) => taken.includes(name)) ??
    [names.kind, names.listKind].find((kind) => kind !== undefined && kinds.includes(kind));
  if (clash === undefined) {
    return [
      at(time, 'NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'),
      at(time, 'Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ];
  }
  return [
    at(time, 'NamesAccepted', 'False', 'NameConflict', `${JSON.stringify(clash)} is already in use`),
    at(time, 'Established', 'False', 'NotAccepted', 'not all names are accepted'),
  ];
}

function namesOf(names: CustomResourceDefinition['spec']['names'] | undefined): string[] {
  if (names === undefined) return [];
  return [
    names.plural,
    ...(names.singular === undefined ? [] : [names.singular]),
    ...(names.shortNames ?? []),
  ];
}

/** Terminating, of a definition whose instances go first. `time`: RFC 3339. */
export function terminating(time: string): DefinitionCondition {
  return at(
    time,
    'Terminating',
    'True',
    'InstanceDeletionPending',
    'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  );
}
