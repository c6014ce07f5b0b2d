import type { Attributes } from '../../access/attributes.ts';
import { evaluate } from '../../access/authorize.ts';
import type { PolicyRule } from '../../access/policy-rule.ts';
import { rulesFor } from '../../access/rules-of-user.ts';
import { mastersGroup } from '../../access/user.ts';
import type { User } from '../../access/user.ts';
import { invalidValue, required } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import type { JsonRecord } from '../../schema/json.ts';
import { fields, boolean, array, string } from '../../schema/schema.ts';
import type { MutableObject, Kind, ReviewContext } from '../kind.ts';
import { reviewKind } from './review-kind.ts';

const group = 'authorization.k8s.io';

interface AccessSpec {
  readonly resourceAttributes?: Record<string, string>;
  readonly nonResourceAttributes?: { path?: string; verb?: string };
  readonly namespace?: string;
}

const attributes = {
  resourceAttributes: fields({
    ...{ namespace: string, verb: string, group: string, version: string },
    ...{ resource: string, subresource: string, name: string },
  }),
  nonResourceAttributes: fields({ path: string, verb: string }),
};
const status = fields({ allowed: boolean, denied: boolean, reason: string, evaluationError: string });
const specOf = (draft: MutableObject): AccessSpec => draft['spec'] ?? {};

/** kubernetes: pkg/apis/authorization/validation/validation.go */
function checkAttributes(draft: MutableObject): Cause[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = specOf(draft);
  if ((resource === undefined) === (path === undefined)) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return resource === undefined
      ? [invalidValue('spec.resourceAttributes', null, detail)]
      : [
          invalidValue(
            'spec.nonResourceAttributes',
            path,
            `cannot be specified in combination with resourceAttributes`,
          ),
        ];
  }
  return [];
}

function attributesOf({ resourceAttributes, nonResourceAttributes }: AccessSpec): Attributes {
  if (resourceAttributes === undefined) {
    const { path = '', verb = '' } = nonResourceAttributes ?? {};
    return { path, verb };
  }
  const { group: apiGroup = '', verb = '', resource = '', ...rest } = resourceAttributes;
  return { ...rest, group: apiGroup, verb, resource };
}

function answer(registry: ReviewContext['registry'], user: User, draft: MutableObject): JsonRecord {
  const { allowed, reason } = evaluate(registry, user, attributesOf(specOf(draft)));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

export const selfSubjectAccessReviewKind = reviewKind(group, 'SelfSubjectAccessReview', {
  spec: fields(attributes),
  status,
  validate: checkAttributes,
  review: (draft, { registry, user }) => answer(registry, user, draft),
});

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Used by `kubectl auth can-i --list`. */
export const selfSubjectRulesReviewKind: Kind = reviewKind(group, 'SelfSubjectRulesReview', {
  spec: fields({ namespace: string }),
  status: fields({
    resourceRules: array(
      fields({
        ...{ verbs: array(string), apiGroups: array(string) },
        ...{ resources: array(string), resourceNames: array(string) },
      }),
    ),
    nonResourceRules: array(fields({ verbs: array(string), nonResourceURLs: array(string) })),
    incomplete: boolean,
    evaluationError: string,
  }),
  validate: (draft) =>
    (specOf(draft).namespace ?? '') === '' ? [required('spec.namespace', 'no namespace on request')] : [],
  review: (draft, { registry, user }) => {
    const found = rulesFor(registry, user, specOf(draft).namespace);
    const rules = [...(user.groups.includes(mastersGroup) ? everything : []), ...found.rules];
    return {
      resourceRules: rules.filter(({ resources }) => resources !== undefined),
      nonResourceRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined),
      incomplete: false,
      ...(found.problems.length === 0 ? {} : { evaluationError: found.problems.join(', ') }),
    };
  },
});
