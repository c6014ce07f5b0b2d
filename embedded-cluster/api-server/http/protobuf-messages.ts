import { policyMessages } from './protobuf-policy.ts';
import type { WireMessage } from './wire-message.ts';

/** Field numbers of apimachinery meta/v1, api core/v1 and policy/v1 generated.proto. */
const objectMeta: WireMessage = {
  1: ['name', 'text'],
  2: ['generateName', 'text'],
  3: ['namespace', 'text'],
  4: ['selfLink', 'text'],
  5: ['uid', 'text'],
  6: ['resourceVersion', 'text'],
  7: ['generation', 'integer'],
  8: ['creationTimestamp', 'skipped'],
  11: ['labels', { map: 'text' }],
  12: ['annotations', { map: 'text' }],
  9: ['deletionTimestamp', 'skipped'],
  10: ['deletionGracePeriodSeconds', 'integer'],
  13: [
    'ownerReferences',
    {
      messages: {
        1: ['kind', 'text'],
        3: ['name', 'text'],
        4: ['uid', 'text'],
        5: ['apiVersion', 'text'],
        6: ['controller', 'flag'],
        7: ['blockOwnerDeletion', 'flag'],
      },
    },
  ],
  14: ['finalizers', { list: 'text' }],
  17: ['managedFields', 'skipped'],
};

const metadata = ['metadata', { message: objectMeta }] as const;

const deleteOptions: WireMessage = {
  1: ['gracePeriodSeconds', 'integer'],
  2: ['preconditions', { message: { 1: ['uid', 'text'], 2: ['resourceVersion', 'text'] } }],
  3: ['orphanDependents', 'flag'],
  4: ['propagationPolicy', 'text'],
  5: ['dryRun', { list: 'text' }],
};

/** The messages that clients send as protobuf: those of kubectl create, drain and auth. */
export const messages: Readonly<Record<string, WireMessage>> = {
  ...Object.fromEntries(
    Object.entries(policyMessages).map(([kind, message]) => [kind, { 1: metadata, ...message }]),
  ),
  Namespace: {
    1: metadata,
    2: ['spec', { message: { 1: ['finalizers', { list: 'text' }] } }],
    3: ['status', { message: { 1: ['phase', 'text'] } }],
  },
  Secret: {
    1: metadata,
    2: ['data', { map: 'base64' }],
    3: ['type', 'text'],
    4: ['stringData', { map: 'text' }],
    5: ['immutable', 'flag'],
  },
  ConfigMap: {
    1: metadata,
    2: ['data', { map: 'text' }],
    3: ['binaryData', { map: 'base64' }],
    4: ['immutable', 'flag'],
  },
  DeleteOptions: deleteOptions,
  Eviction: { 1: metadata, 2: ['deleteOptions', { message: deleteOptions }] },
};
