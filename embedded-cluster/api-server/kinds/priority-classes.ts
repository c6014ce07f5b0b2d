import { priorityClasses } from '../../../src/kubernetes/resources.ts';
import { forbiddenField, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { forbidden } from '../errors/status-errors.ts';
import { boolean, integer, kindSchema, string } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { stringAt } from './columns.ts';
import type { AdmissionContext, MutableObject, Kind } from './kind.ts';
import { checkImmutable } from './object-meta.ts';

const highestUserPriority = 1_000_000_000;

/** The classes of every cluster (kubernetes: pkg/apis/scheduling/v1/helpers.go). */
export const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
]);

const policies = ['Never', 'PreemptLowerPriority'];

/** kubernetes: pkg/apis/scheduling/validation/validation.go */
function validate(draft: MutableObject): Cause[] {
  const { name } = draft.metadata;
  const value = Number(draft['value']);
  const policy = stringAt(draft, ['preemptionPolicy']);
  const isSystem = systemPriorities.get(name) === value;
  return [
    ...(name.startsWith('system-') && !isSystem
      ? [
          forbiddenField(
            'metadata.name',
            "priority class names with 'system-' prefix are reserved for system use only",
          ),
        ]
      : []),
    ...(value > highestUserPriority && !isSystem
      ? [
          forbiddenField(
            'value',
            `maximum allowed value of a user defined priority is ${highestUserPriority}`,
          ),
        ]
      : []),
    ...(policies.includes(policy) ? [] : [unsupportedValue('preemptionPolicy', policy, policies)]),
  ];
}

/**
 * Checks as the admission plugin Priority that at most one class is the default for pods that name none.
 * Throws ApiError 403.
 */
function checkSingleGlobalDefault(draft: MutableObject, context: AdmissionContext): void {
  if (draft['globalDefault'] !== true) return;
  const { name } = draft.metadata;
  const other = context
    .list(priorityClasses)
    .find((object) => object['globalDefault'] === true && object.metadata.name !== name);
  if (other !== undefined) {
    throw forbidden(
      priorityClasses,
      name,
      `PriorityClass ${other.metadata.name} has already been marked as default. Only one default can exist`,
    );
  }
}

/**
 * A warning and not an error, because nearly every class has this policy, if only by default.
 */
const preemptionWarning =
  'preemptionPolicy: the embedded cluster preempts nothing; a class only says which waiting pod comes first';

export const priorityClassKind: Kind = {
  resource: priorityClasses,
  name: 'PriorityClass',
  singular: 'priorityclass',
  shortNames: ['pc'],
  categories: [],
  schema: kindSchema({
    value: integer,
    globalDefault: boolean,
    description: string,
    preemptionPolicy: string,
  }),
  hasStatus: false,
  countsGenerations: true,
  nameRule: 'subdomain',
  fillDefaults: (draft) => {
    draft['value'] ??= 0;
    draft['preemptionPolicy'] ??= 'PreemptLowerPriority';
  },
  prepareCreate: checkSingleGlobalDefault,
  admitUpdate: (draft, _current: StoredObject, context) => checkSingleGlobalDefault(draft, context),
  validate,
  warningsOnCreate: (draft) => (stringAt(draft, ['preemptionPolicy']) === 'Never' ? [] : [preemptionWarning]),
  validateUpdate: (draft, current) => [
    ...checkImmutable('value', draft['value'], current['value']),
    ...checkImmutable('preemptionPolicy', draft['preemptionPolicy'], current['preemptionPolicy']),
  ],
};
