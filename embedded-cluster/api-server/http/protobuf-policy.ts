import type { WireMessage } from './wire-message.ts';

const accessStatus: WireMessage = {
  1: ['allowed', 'flag'],
  2: ['reason', 'text'],
  3: ['evaluationError', 'text'],
  4: ['denied', 'flag'],
};

const rule: WireMessage = {
  1: ['verbs', { list: 'text' }],
  2: ['apiGroups', { list: 'text' }],
  3: ['resources', { list: 'text' }],
  4: ['resourceNames', { list: 'text' }],
  5: ['nonResourceURLs', { list: 'text' }],
};

const subject: WireMessage = {
  1: ['kind', 'text'],
  2: ['apiGroup', 'text'],
  3: ['name', 'text'],
  4: ['namespace', 'text'],
};

const labelSelector: WireMessage = {
  1: ['matchLabels', { map: 'text' }],
  2: [
    'matchExpressions',
    {
      messages: { 1: ['key', 'text'], 2: ['operator', 'text'], 3: ['values', { list: 'text' }] },
    },
  ],
};

const role: WireMessage = { 2: ['rules', { messages: rule }] };
const binding: WireMessage = {
  2: ['subjects', { messages: subject }],
  3: ['roleRef', { message: { 1: ['apiGroup', 'text'], 2: ['kind', 'text'], 3: ['name', 'text'] } }],
};

/**
 * Messages of kubectl's `auth`, `create token`, `create role` and similar commands, without metadata (field
 * 1). Field numbers of api authorization/v1, authentication/v1, rbac/v1, core/v1, policy/v1 and scheduling/v1
 * generated.proto.
 */
export const policyMessages: Readonly<Record<string, WireMessage>> = {
  SelfSubjectAccessReview: {
    2: [
      'spec',
      {
        message: {
          1: [
            'resourceAttributes',
            {
              message: {
                1: ['namespace', 'text'],
                2: ['verb', 'text'],
                3: ['group', 'text'],
                4: ['version', 'text'],
                5: ['resource', 'text'],
                6: ['subresource', 'text'],
                7: ['name', 'text'],
              },
            },
          ],
          2: ['nonResourceAttributes', { message: { 1: ['path', 'text'], 2: ['verb', 'text'] } }],
        },
      },
    ],
    3: ['status', { message: accessStatus }],
  },
  SelfSubjectRulesReview: {
    2: ['spec', { message: { 1: ['namespace', 'text'] } }],
    3: ['status', { message: { 3: ['incomplete', 'flag'], 4: ['evaluationError', 'text'] } }],
  },
  SelfSubjectReview: {
    2: [
      'status',
      { message: { 1: ['userInfo', { message: { 1: ['username', 'text'], 2: ['uid', 'text'] } }] } },
    ],
  },
  TokenRequest: {
    2: [
      'spec',
      {
        message: {
          1: ['audiences', { list: 'text' }],
          3: [
            'boundObjectRef',
            {
              message: {
                1: ['kind', 'text'],
                2: ['apiVersion', 'text'],
                3: ['name', 'text'],
                4: ['uid', 'text'],
              },
            },
          ],
          4: ['expirationSeconds', 'integer'],
        },
      },
    ],
    3: ['status', { message: { 1: ['token', 'text'], 2: ['expirationTimestamp', 'skipped'] } }],
  },
  Role: role,
  ClusterRole: role,
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  ServiceAccount: {
    3: ['imagePullSecrets', { messages: { 1: ['name', 'text'] } }],
    4: ['automountServiceAccountToken', 'flag'],
  },
  ResourceQuota: {
    // `scopes` is decoded so that it is rejected as a field that is not implemented.
    2: ['spec', { message: { 1: ['hard', { map: 'quantity' }], 2: ['scopes', { list: 'text' }] } }],
    3: ['status', { message: { 1: ['hard', { map: 'quantity' }], 2: ['used', { map: 'quantity' }] } }],
  },
  PodDisruptionBudget: {
    2: [
      'spec',
      {
        message: {
          1: ['minAvailable', 'integerOrText'],
          2: ['selector', { message: labelSelector }],
          3: ['maxUnavailable', 'integerOrText'],
          4: ['unhealthyPodEvictionPolicy', 'text'],
        },
      },
    ],
    3: [
      'status',
      {
        message: {
          1: ['observedGeneration', 'integer'],
          3: ['disruptionsAllowed', 'integer'],
          4: ['currentHealthy', 'integer'],
          5: ['desiredHealthy', 'integer'],
          6: ['expectedPods', 'integer'],
        },
      },
    ],
  },
  PriorityClass: {
    2: ['value', 'integer'],
    3: ['globalDefault', 'flag'],
    4: ['description', 'text'],
    5: ['preemptionPolicy', 'text'],
  },
};
