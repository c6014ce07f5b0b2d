import type { Resource } from './api.ts';

const core = (plural: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  plural,
  namespaced,
});

export const namespaces = core('namespaces', false);
export const nodes = core('nodes', false);
export const pods = core('pods');
export const secrets = core('secrets');
export const configMaps = core('configmaps');
export const services = core('services');
export const serviceAccounts = core('serviceaccounts');
export const resourceQuotas = core('resourcequotas');
export const events = core('events');
export const persistentVolumes = core('persistentvolumes', false);
export const persistentVolumeClaims = core('persistentvolumeclaims');
export const storageClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  namespaced: false,
};

export const volumeAttributesClasses: Resource = { ...storageClasses, plural: 'volumeattributesclasses' };

/** Kinds of kubernetes-csi/external-snapshotter, which not every cluster has installed. */
const snapshotKind = (plural: string, namespaced: boolean): Resource => ({
  group: 'snapshot.storage.k8s.io',
  version: 'v1',
  plural,
  namespaced,
});

const rbac = (plural: string, namespaced: boolean): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  namespaced,
});

export const volumeSnapshots = snapshotKind('volumesnapshots', true);
export const volumeSnapshotContents = snapshotKind('volumesnapshotcontents', false);
export const volumeSnapshotClasses = snapshotKind('volumesnapshotclasses', false);
export const networkAttachmentDefinitions: Resource = {
  group: 'k8s.cni.cncf.io',
  version: 'v1',
  plural: 'network-attachment-definitions',
  namespaced: true,
};
export const networkPolicies: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  namespaced: true,
};
export const endpointSlices: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  namespaced: true,
};
export const roles = rbac('roles', true);
export const roleBindings = rbac('rolebindings', true);
export const clusterRoles = rbac('clusterroles', false);
export const clusterRoleBindings = rbac('clusterrolebindings', false);
export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespaced: true,
};

export const podDisruptionBudgets: Resource = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  namespaced: true,
};
export const priorityClasses: Resource = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  namespaced: false,
};
export const runtimeClasses: Resource = {
  group: 'node.k8s.io',
  version: 'v1',
  plural: 'runtimeclasses',
  namespaced: false,
};
export const daemonSets: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  namespaced: true,
};
export const selfSubjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
};
export const subjectAccessReviews: Resource = {
  ...selfSubjectAccessReviews,
  plural: 'subjectaccessreviews',
};

/**
 * Returns `/api/v1/namespaces/<ns>/pods/<name>`. Without a namespace the path covers all namespaces, without
 * a name it is the collection. Throws a plain Error for an invalid name, because it would address another
 * object.
 */
export function resourcePath(
  resource: Resource,
  namespace: string | undefined,
  ...rest: readonly string[]
): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  const below = rest.map((text) => `/${segment(text)}`).join('');
  return `${root}/${resource.version}${scope}/${resource.plural}${below}`;
}

function segment(text: string): string {
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('%')) {
    throw new Error(`not a path segment of the Kubernetes API: ${JSON.stringify(text)}`);
  }
  return encodeURIComponent(text);
}
