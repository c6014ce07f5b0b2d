import { evaluate } from '../access/authorize.ts';
import { type Attributes } from '../access/policy-rule.ts';
import type { PolicyRule } from '../access/policy-rule.ts';
import { rulesFor } from '../access/rules-of-user.ts';
import { mastersGroup, type User } from '../access/user.ts';
import { invalidValue, required, type Cause } from '../errors/field-causes.ts';
import type { JsonRecord } from '../schema/json.ts';
import { fields, boolean, array, string, kindSchema, type Schema, mapOf } from '../schema/schema.ts';
import type { MutableObject, Kind, ReviewContext } from './kind.ts';

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

const accessStatus = fields({ allowed: boolean, denied: boolean, reason: string, evaluationError: string });
const specOf = (draft: MutableObject): AccessSpec => draft['spec'] ?? {};

export const selfSubjectAccessReviewKind = reviewKind('authorization.k8s.io', 'SelfSubjectAccessReview', {
  spec: fields(attributes),
  status: accessStatus,
  validate: checkAttributes,
  review: (draft, { registry, user }) => reviewAccess(registry, user, draft),
});

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

function reviewAccess(registry: ReviewContext['registry'], user: User, draft: MutableObject): JsonRecord {
  const { allowed, reason } = evaluate(registry, user, attributesOf(specOf(draft)));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

function attributesOf({ resourceAttributes, nonResourceAttributes }: AccessSpec): Attributes {
  if (resourceAttributes === undefined) {
    const { path = '', verb = '' } = nonResourceAttributes ?? {};
    return { path, verb };
  }
  const { group: apiGroup = '', verb = '', resource = '', ...rest } = resourceAttributes;
  return { ...rest, group: apiGroup, verb, resource };
}

const adminRules: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Used by `kubectl auth can-i --list`. */
export const selfSubjectRulesReviewKind: Kind = reviewKind('authorization.k8s.io', 'SelfSubjectRulesReview', {
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
    const rules = [...(user.groups.includes(mastersGroup) ? adminRules : []), ...found.rules];
    return {
      resourceRules: rules.filter(({ resources }) => resources !== undefined),
      nonResourceRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined),
      incomplete: false,
      ...(found.problems.length === 0 ? {} : { evaluationError: found.problems.join(', ') }),
    };
  },
});

const userInfo = fields({
  username: string,
  uid: string,
  groups: array(string),
  extra: mapOf(array(string)),
});

/** Used by `kubectl auth whoami`. */
export const selfSubjectReviewKind = reviewKind('authentication.k8s.io', 'SelfSubjectReview', {
  status: fields({ userInfo }),
  validate: () => [],
  review: (_draft, { user }) => ({ userInfo: infoOf(user) }),
});

const infoOf = ({ name, uid, groups, extra }: User): JsonRecord => ({
  username: name,
  ...(uid === undefined ? {} : { uid }),
  groups: [...groups],
  ...(extra === undefined ? {} : { extra }),
});

/** Returns a review kind. Its plural is `name` in lower case with an s. */
function reviewKind(
  group: string,
  name: string,
  parts: Pick<Kind, 'validate'> & { review: NonNullable<Kind['review']> } & {
    readonly spec?: Schema;
    readonly status: Schema;
  },
): Kind {
  const singular = name.toLowerCase();
  const { spec, status, ...rest } = parts;
  return {
    resource: { group, version: 'v1', plural: `${singular}s`, namespaced: false },
    name,
    singular,
    shortNames: [],
    categories: [],
    schema: kindSchema({ ...(spec === undefined ? {} : { spec }), status }),
    hasStatus: false,
    countsGenerations: false,
    nameRule: 'segment',
    ...rest,
  };
}
