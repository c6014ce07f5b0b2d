import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';

/**
 * Returns a pod that no node accepts, because nothing matches its selector: it stays as the tests create it.
 */
export function unschedulablePod(
  namespace: string,
  name: string,
  changes: Partial<Pod['metadata']> = {},
): Pod {
  return {
    metadata: { namespace, name, ...changes },
    spec: {
      nodeSelector: { 'bosh.cloudfoundry.org/contract': 'nowhere' },
      containers: [{ name: 'main', image: 'embedded.bosh-kubernetes/host-root:1' }],
    },
  };
}

export interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export function configMap(
  namespace: string,
  name: string,
  changes: Partial<ConfigMap['metadata']> & { data?: Record<string, string> } = {},
): ConfigMap {
  const { data = {}, ...metadata } = changes;
  return { metadata: { namespace, name, ...metadata }, data };
}
