import type { CpiConfig } from './config.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import { loadAccess } from '../../kubernetes/access/kubeconfig-access.ts';
import type { ServerConfig } from './cluster-access.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Resolves the access to the cluster that a configuration names; `process` is the environment of this
 * process. Rejects with INVALID_CONFIG.
 */
export async function resolveClusterAccess(
  { kubernetes, proxies }: Pick<CpiConfig, 'kubernetes' | 'proxies'>,
  process: Environment,
): Promise<Access> {
  const { kubeconfig, server, context, namespace, defaultNamespace } = kubernetes;
  const environment = { ...process, ...proxies };
  if (kubeconfig !== undefined) {
    return loadAccess(kubeconfig, { context, namespace, defaultNamespace, environment });
  }
  const { inClusterAccess, proxyOf, serverAccess } = await import('../../kubernetes/access/server-access.ts');
  if (server === undefined || isAnonymous(server)) {
    const pod = inClusterAccess({ environment, server: server?.url });
    const ca = server?.ca ?? pod.ca;
    return {
      ...pod,
      ...(ca !== undefined && { ca }),
      ...proxyOf(pod.server, environment),
      namespace: namespace ?? pod.namespace,
    };
  }
  return {
    ...serverAccess({ ...server, server: server.url }, environment),
    namespace: namespace ?? 'default',
  };
}

const isAnonymous = ({ token, certificate }: ServerConfig): boolean =>
  token === undefined && certificate === undefined;
