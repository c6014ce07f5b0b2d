import type { Resource } from '../../src/kubernetes/api.ts';

/** Of a real cluster: the embedded one serves none. */
export const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
