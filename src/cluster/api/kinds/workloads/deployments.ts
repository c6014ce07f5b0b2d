import { matchesLabelSelector } from '../../../../kubernetes/label-selector.ts';
import { deployments } from '../../../../kubernetes/resources.ts';
import type { Deployment } from '../../../../kubernetes/workload.ts';
import { forbiddenField, invalidValue, unsupportedValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { fields, flag, integer, integerOrText, kindSchema, listOf } from '../../schema/schema.ts';
import { text } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import type { Draft, Kind } from '../kind.ts';
import { labelSelector } from '../node-selector-schema.ts';
import { checkImmutable } from '../object-meta.ts';
import { checkKeptTemplate, fillTemplateDefaults, podTemplate } from './pod-template.ts';
import { checkCounts, checkSelector, condition, count, selectorText } from './replica-fields.ts';
import { templateColumns } from './template-columns.ts';

const strategies = ['Recreate', 'RollingUpdate'];

const specOf = (object: Draft | StoredObject): Deployment['spec'] | undefined =>
  (object as unknown as Partial<Deployment>).spec;

/** Defaults of pkg/apis/apps/v1. */
function fillDefaults(draft: Draft): void {
  const spec = specOf(draft);
  if (spec === undefined) return;
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  spec.strategy ??= {};
  spec.strategy.type ??= 'RollingUpdate';
  if (spec.strategy.type === 'RollingUpdate') {
    spec.strategy.rollingUpdate = { maxSurge: '25%', maxUnavailable: '25%', ...spec.strategy.rollingUpdate };
  }
  fillTemplateDefaults(spec.template);
}

function checkStrategy(spec: Deployment['spec'] | undefined): Cause[] {
  const { type = '', rollingUpdate } = spec?.strategy ?? {};
  if (!strategies.includes(type)) return [unsupportedValue('spec.strategy.type', type, strategies)];
  if (type === 'Recreate') {
    const detail = "may not be specified when strategy `type` is 'Recreate'";
    return rollingUpdate === undefined ? [] : [forbiddenField('spec.strategy.rollingUpdate', detail)];
  }
  const amounts = (['maxUnavailable', 'maxSurge'] as const).map(
    (key) => [key, rollingUpdate?.[key]] as const,
  );
  const wrong = amounts.filter(([, amount]) => !isAmount(amount));
  if (wrong.length > 0) {
    return wrong.map(([key, amount]) =>
      invalidValue(
        `spec.strategy.rollingUpdate.${key}`,
        amount,
        'must be a count of at least 0 or a percentage',
      ),
    );
  }
  return amounts.every(([, amount]) => Number.parseInt(String(amount), 10) === 0)
    ? [
        invalidValue(
          'spec.strategy.rollingUpdate.maxUnavailable',
          rollingUpdate?.maxUnavailable,
          'may not be 0 when `maxSurge` is 0',
        ),
      ]
    : [];
}

function isAmount(amount: number | string | undefined): boolean {
  return typeof amount === 'number' ? amount >= 0 : /^\d+%$/.test(amount ?? '');
}

/** apps/v1, pkg/apis/apps/validation ValidateDeployment; kept by controllers/workloads/deployments.ts. */
export const deploymentKind: Kind = {
  resource: deployments,
  name: 'Deployment',
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  schema: kindSchema({
    spec: fields({
      ...{ replicas: integer, minReadySeconds: integer, paused: flag },
      ...{ revisionHistoryLimit: integer, progressDeadlineSeconds: integer },
      selector: labelSelector,
      strategy: fields({
        type: text,
        rollingUpdate: fields({ maxSurge: integerOrText, maxUnavailable: integerOrText }),
      }),
      template: podTemplate,
    }),
    status: fields({
      ...{ observedGeneration: integer, replicas: integer, updatedReplicas: integer },
      ...{ readyReplicas: integer, availableReplicas: integer, unavailableReplicas: integer },
      ...{ collisionCount: integer, conditions: listOf(condition, { key: 'type' }) },
    }),
  }),
  hasStatus: true,
  scale: (object) => selectorText(specOf(object)?.selector),
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column(
      'Ready',
      (object) => `${count(object, 'status', 'readyReplicas')}/${count(object, 'spec', 'replicas')}`,
    ),
    column('Up-to-date', (object) => count(object, 'status', 'updatedReplicas'), { type: 'integer' }),
    column('Available', (object) => count(object, 'status', 'availableReplicas'), { type: 'integer' }),
    ageColumn,
    ...templateColumns((object) => specOf(object)?.template, { wide: true }),
    column('Selector', (object) => selectorText(specOf(object)?.selector), { wide: true }),
  ],
  fillDefaults,
  prepareCreate: (draft) => {
    delete draft['status'];
  },
  validate: (draft) => [
    ...checkCounts(specOf(draft), [
      ...['replicas', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds'],
    ]),
    ...checkSelector('spec.selector', specOf(draft)?.selector),
    ...checkStrategy(specOf(draft)),
    ...checkKeptTemplate('spec.template', specOf(draft)?.template, (labels) =>
      matchesLabelSelector(specOf(draft)?.selector ?? {}, labels),
    ),
  ],
  validateUpdate: (draft, current) =>
    checkImmutable('spec.selector', specOf(draft)?.selector, specOf(current)?.selector),
};
