/** The type of a field of a message. `skipped` is for empty times, which Go always sends. */
export type WireType =
  | 'string'
  | 'base64'
  | 'integer'
  | 'bool'
  | 'skipped'
  /** resource.Quantity and intstr.IntOrString, which are messages of their own. */
  | 'quantity'
  | 'integerOrText'
  | { readonly message: WireMessage }
  /** A repeated field. */
  | { readonly messages: WireMessage }
  | { readonly list: 'string' }
  | { readonly map: 'string' | 'base64' | 'quantity' };

/** The fields of a message by their numbers. */
export type WireMessage = Readonly<Record<number, readonly [name: string, type: WireType]>>;

const accessStatus: WireMessage = {
  1: ['allowed', 'bool'],
  2: ['reason', 'string'],
  3: ['evaluationError', 'string'],
  4: ['denied', 'bool'],
};

const rule: WireMessage = {
  1: ['verbs', { list: 'string' }],
  2: ['apiGroups', { list: 'string' }],
  3: ['resources', { list: 'string' }],
  4: ['resourceNames', { list: 'string' }],
  5: ['nonResourceURLs', { list: 'string' }],
};

const subject: WireMessage = {
  1: ['kind', 'string'],
  2: ['apiGroup', 'string'],
  3: ['name', 'string'],
  4: ['namespace', 'string'],
};

const labelSelector: WireMessage = {
  1: ['matchLabels', { map: 'string' }],
  2: [
    'matchExpressions',
    {
      messages: { 1: ['key', 'string'], 2: ['operator', 'string'], 3: ['values', { list: 'string' }] },
    },
  ],
};

const role: WireMessage = { 2: ['rules', { messages: rule }] };
const binding: WireMessage = {
  2: ['subjects', { messages: subject }],
  3: ['roleRef', { message: { 1: ['apiGroup', 'string'], 2: ['kind', 'string'], 3: ['name', 'string'] } }],
};

/**
 * Messages of kubectl's `auth`, `create token`, `create role` and similar commands, without metadata (field
 * 1). Field numbers of api authorization/v1, authentication/v1, rbac/v1, core/v1, policy/v1 and scheduling/v1
 * generated.proto.
 */
const policyMessages: Readonly<Record<string, WireMessage>> = {
  SelfSubjectAccessReview: {
    2: [
      'spec',
      {
        message: {
          1: [
            'resourceAttributes',
            {
              message: {
                1: ['namespace', 'string'],
                2: ['verb', 'string'],
                3: ['group', 'string'],
                4: ['version', 'string'],
                5: ['resource', 'string'],
                6: ['subresource', 'string'],
                7: ['name', 'string'],
              },
            },
          ],
          2: ['nonResourceAttributes', { message: { 1: ['path', 'string'], 2: ['verb', 'string'] } }],
        },
      },
    ],
    3: ['status', { message: accessStatus }],
  },
  SelfSubjectRulesReview: {
    2: ['spec', { message: { 1: ['namespace', 'string'] } }],
    3: ['status', { message: { 3: ['incomplete', 'bool'], 4: ['evaluationError', 'string'] } }],
  },
  SelfSubjectReview: {
    2: [
      'status',
      { message: { 1: ['userInfo', { message: { 1: ['username', 'string'], 2: ['uid', 'string'] } }] } },
    ],
  },
  TokenRequest: {
    2: [
      'spec',
      {
        message: {
          1: ['audiences', { list: 'string' }],
          3: [
            'boundObjectRef',
            {
              message: {
                1: ['kind', 'string'],
                2: ['apiVersion', 'string'],
                3: ['name', 'string'],
                4: ['uid', 'string'],
              },
            },
          ],
          4: ['expirationSeconds', 'integer'],
        },
      },
    ],
    3: ['status', { message: { 1: ['token', 'string'], 2: ['expirationTimestamp', 'skipped'] } }],
  },
  Role: role,
  ClusterRole: role,
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  ServiceAccount: {
    3: ['imagePullSecrets', { messages: { 1: ['name', 'string'] } }],
    4: ['automountServiceAccountToken', 'bool'],
  },
  ResourceQuota: {
    // `scopes` is decoded so that it is rejected as a field that is not implemented.
    2: ['spec', { message: { 1: ['hard', { map: 'quantity' }], 2: ['scopes', { list: 'string' }] } }],
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
          4: ['unhealthyPodEvictionPolicy', 'string'],
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
    3: ['globalDefault', 'bool'],
    4: ['description', 'string'],
    5: ['preemptionPolicy', 'string'],
  },
};

/** Field numbers of apimachinery meta/v1, api core/v1 and policy/v1 generated.proto. */
const objectMeta: WireMessage = {
  1: ['name', 'string'],
  2: ['generateName', 'string'],
  3: ['namespace', 'string'],
  4: ['selfLink', 'string'],
  5: ['uid', 'string'],
  6: ['resourceVersion', 'string'],
  7: ['generation', 'integer'],
  8: ['creationTimestamp', 'skipped'],
  11: ['labels', { map: 'string' }],
  12: ['annotations', { map: 'string' }],
  9: ['deletionTimestamp', 'skipped'],
  10: ['deletionGracePeriodSeconds', 'integer'],
  13: [
    'ownerReferences',
    {
      messages: {
        1: ['kind', 'string'],
        3: ['name', 'string'],
        4: ['uid', 'string'],
        5: ['apiVersion', 'string'],
        6: ['controller', 'bool'],
        7: ['blockOwnerDeletion', 'bool'],
      },
    },
  ],
  14: ['finalizers', { list: 'string' }],
  17: ['managedFields', 'skipped'],
};

const metadata = ['metadata', { message: objectMeta }] as const;

const deleteOptions: WireMessage = {
  1: ['gracePeriodSeconds', 'integer'],
  2: ['preconditions', { message: { 1: ['uid', 'string'], 2: ['resourceVersion', 'string'] } }],
  3: ['orphanDependents', 'bool'],
  4: ['propagationPolicy', 'string'],
  5: ['dryRun', { list: 'string' }],
};

/** The messages that clients send as protobuf: those of kubectl create, drain and auth. */
export const messages: Readonly<Record<string, WireMessage>> = {
  ...Object.fromEntries(
    Object.entries(policyMessages).map(([kind, message]) => [kind, { 1: metadata, ...message }]),
  ),
  Namespace: {
    1: metadata,
    2: ['spec', { message: { 1: ['finalizers', { list: 'string' }] } }],
    3: ['status', { message: { 1: ['phase', 'string'] } }],
  },
  Secret: {
    1: metadata,
    2: ['data', { map: 'base64' }],
    3: ['type', 'string'],
    4: ['stringData', { map: 'string' }],
    5: ['immutable', 'bool'],
  },
  ConfigMap: {
    1: metadata,
    2: ['data', { map: 'string' }],
    3: ['binaryData', { map: 'base64' }],
    4: ['immutable', 'bool'],
  },
  DeleteOptions: deleteOptions,
  Eviction: { 1: metadata, 2: ['deleteOptions', { message: deleteOptions }] },
};
