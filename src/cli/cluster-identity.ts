import { createHash } from 'node:crypto';
import type { ClusterIdentity } from '../deploy/state/cluster-note.ts';
import type { Access } from '../kubernetes/access/access.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { namespaces } from '../kubernetes/resources.ts';

/** Identifies the cluster of a kubeconfig without a request to it. */
export function identityOfAccess({ server, ca }: Access, kubeconfig: string): ClusterIdentity {
  const authority = ca === undefined ? {} : { ca_sha256: createHash('sha256').update(ca).digest('hex') };
  return { server, ...authority, kubeconfig };
}

/**
 * Identifies the cluster by requests to it. The uid is left out if the role may not read the namespace
 * kube-system.
 */
export async function identifyCluster(
  api: Pick<KubernetesApi, 'get'>,
  access: Access,
  kubeconfig: string,
): Promise<ClusterIdentity> {
  const identity = identityOfAccess(access, kubeconfig);
  try {
    const { metadata } = await api.get({ resource: namespaces, name: 'kube-system' });
    return metadata.uid === undefined ? identity : { uid: metadata.uid, ...identity };
  } catch (error) {
    if (!isApiError(error, 403)) throw error;
    return identity;
  }
}
