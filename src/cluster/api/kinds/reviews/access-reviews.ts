import type { Attributes } from '../../access/attributes.ts';
import { decide } from '../../access/authorize.ts';
import type { PolicyRule } from '../../access/policy-rule.ts';
import { rulesOfUser } from '../../access/rules-of-user.ts';
import { mastersGroup } from '../../access/user.ts';
import type { User } from '../../access/user.ts';
import { invalidValue, required } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import type { JsonRecord } from '../../schema/json.ts';
import { fields, flag, listOf, text } from '../../schema/schema.ts';
import type { Draft, Kind, ReviewContext } from '../kind.ts';
import { reviewKind } from './review-kind.ts';

const group = 'authorization.k8s.io';

interface AccessSpec {
  readonly resourceAttributes?: Record<string, string>;
  readonly nonResourceAttributes?: { path?: string; verb?: string };
  readonly namespace?: string;
}

const attributes = {
  resourceAttributes: fields({
    ...{ namespace: text, verb: text, group: text, version: text },
    ...{ resource: text, subresource: text, name: text },
  }),
  nonResourceAttributes: fields({ path: text, verb: text }),
};
const status = fields({ allowed: flag, denied: flag, reason: text, evaluationError: text });
const specOf = (draft: Draft): AccessSpec => draft['spec'] ?? {};

/** kubernetes: pkg/apis/authorization/validation/validation.go */
function checkAttributes(draft: Draft): Cause[] {
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

function answer(registry: ReviewContext['registry'], user: User, draft: Draft): JsonRecord {
  const { allowed, reason } = decide(registry, user, attributesOf(specOf(draft)));
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

/** `kubectl auth can-i --list` */
export const selfSubjectRulesReviewKind: Kind = reviewKind(group, 'SelfSubjectRulesReview', {
  spec: fields({ namespace: text }),
  status: fields({
    resourceRules: listOf(
      fields({
        ...{ verbs: listOf(text), apiGroups: listOf(text) },
        ...{ resources: listOf(text), resourceNames: listOf(text) },
      }),
    ),
    nonResourceRules: listOf(fields({ verbs: listOf(text), nonResourceURLs: listOf(text) })),
    incomplete: flag,
    evaluationError: text,
  }),
  validate: (draft) =>
    (specOf(draft).namespace ?? '') === '' ? [required('spec.namespace', 'no namespace on request')] : [],
  review: (draft, { registry, user }) => {
    const found = rulesOfUser(registry, user, specOf(draft).namespace);
    const rules = [...(user.groups.includes(mastersGroup) ? everything : []), ...found.rules];
    return {
      resourceRules: rules.filter(({ resources }) => resources !== undefined),
      nonResourceRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined),
      incomplete: false,
      ...(found.problems.length === 0 ? {} : { evaluationError: found.problems.join(', ') }),
    };
  },
});
