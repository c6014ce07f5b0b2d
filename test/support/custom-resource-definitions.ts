import type { Resource } from '../../src/kubernetes/api.ts';

/** Only for a real cluster: the embedded one does not serve it. */
export const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
