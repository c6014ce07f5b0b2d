import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, errorTable } from '../../errors/error-table.ts';
import { type ApiRequest, ApiError } from '../../kubernetes/client/api-error.ts';
import type { Status } from '../../kubernetes/object.ts';
import { creationError } from '../vm/create-vm.ts';
import { explainApiError } from './explain-api-error.ts';

const pods = '/api/v1/namespaces/bosh/pods';

function apiError(code: number, message: string, more: Partial<Status> = {}, request?: ApiRequest): ApiError {
  return new ApiError(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message, ...more },
    request,
  );
}

/**
 * Messages as Kubernetes 1.36 writes them, the error code that they become, and the next step in the error.
 */
const cases: readonly [ApiError, ErrorCode, RegExp][] = [
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5',
      { details: { kind: 'pods', name: 'vm-1' } },
    ),
    'QUOTA_EXCEEDED',
    /raise ResourceQuota small or/u,
  ],
  [
    apiError(
      403,
      'persistentvolumeclaims "disk-1" is forbidden: exceeded quota: storage, requested: requests.storage=1Gi, used: requests.storage=9Gi, limited: requests.storage=9Gi',
      { details: { kind: 'persistentvolumeclaims', name: 'disk-1' } },
    ),
    'NO_DISK_SPACE',
    /raise ResourceQuota storage or/u,
  ],
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: violates PodSecurity "baseline:latest": privileged (container "bosh" must not set securityContext.privileged=true)',
    ),
    'KUBERNETES_FORBIDDEN',
    /admits pods of the level baseline only: give the VM that profile \(profile in cloud_properties.* run kubectl label namespace NAMESPACE pod-security\.kubernetes\.io\/enforce=privileged --overwrite$/u,
  ],
  [
    apiError(
      403,
      'pods "attach-disk-1" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "kubelet")',
      {},
      { method: 'POST', path: pods },
    ),
    'KUBERNETES_FORBIDDEN',
    /attachment pods are privileged .*kubernetes\.disk_namespace\), or run kubectl label namespace bosh /u,
  ],
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: violates PodSecurity "restricted:v1.30": runAsNonRoot != true (pod must set it)',
    ),
    'KUBERNETES_FORBIDDEN',
    /no profile of a VM meets: run kubectl label namespace .*enforce=baseline .*the profile baseline/u,
  ],
  [
    apiError(
      422,
      "pods \"attach-disk-1\" is forbidden: ValidatingAdmissionPolicy 'bosh-attachments-only' with binding 'bosh-attachments-only' denied request: only the accounts of the BOSH CPI",
    ),
    'KUBERNETES_FORBIDDEN',
    /ValidatingAdmissionPolicy bosh-attachments-only must admit it/u,
  ],
  [
    apiError(
      403,
      'pods is forbidden: User "system:serviceaccount:bosh:cpi" cannot create resource "pods" in API group "" in the namespace "bosh"',
    ),
    'KUBERNETES_FORBIDDEN',
    /lacks the verb "create" on "pods" \(apiGroup ""\) in namespace bosh: add it/u,
  ],
  [
    apiError(
      403,
      'storageclasses.storage.k8s.io "fast" is forbidden: User "u" cannot get resource "storageclasses" in API group "storage.k8s.io" at the cluster scope',
    ),
    'KUBERNETES_FORBIDDEN',
    /lacks the verb "get" on "storageclasses" \(apiGroup "storage\.k8s\.io"\), in a ClusterRole: add it/u,
  ],
  [
    apiError(403, 'pods "vm-1" is forbidden: no PriorityClass with name high was found'),
    'KUBERNETES_FORBIDDEN',
    /create PriorityClass high or correct priority_class/u,
  ],
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: error looking up service account bosh/jobs: serviceaccount "jobs" not found',
    ),
    'KUBERNETES_FORBIDDEN',
    /create ServiceAccount jobs or correct service_account/u,
  ],
  [
    apiError(403, 'pods "vm-1" is forbidden: pod rejected: RuntimeClass "kata" not found'),
    'KUBERNETES_FORBIDDEN',
    /create RuntimeClass kata or correct runtime_class/u,
  ],
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: unable to create new content in namespace bosh because it is being terminated',
    ),
    'KUBERNETES_FORBIDDEN',
    /wait until the namespace is deleted/u,
  ],
  [
    apiError(403, 'admission webhook "policy.example" denied the request: no privileged pods'),
    'KUBERNETES_FORBIDDEN',
    /webhook policy\.example must admit it/u,
  ],
  [
    apiError(403, 'pods "vm-1" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi'),
    'KUBERNETES_FORBIDDEN',
    /LimitRange/u,
  ],
  [
    apiError(403, 'pods "vm-1" is forbidden: minimum memory usage per Container is 2Gi, but request is 1Gi'),
    'KUBERNETES_FORBIDDEN',
    /change the resources of the VM or the LimitRange$/u,
  ],
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: minimum memory usage per Container is 64Mi, but request is 32Mi',
    ),
    'KUBERNETES_FORBIDDEN',
    /container prepare, which .*fixed.*no property changes that: lower the min of the LimitRange$/u,
  ],
  [
    apiError(
      403,
      'pods "attach-disk-1" is forbidden: [minimum cpu usage per Container is 100m, but request is 10m, minimum memory usage per Container is 64Mi, but request is 32Mi]',
    ),
    'KUBERNETES_FORBIDDEN',
    /container hold, which .*lower the min of the LimitRange, or keep the disks in another namespace \(kubernetes\.disk_namespace\)$/u,
  ],
  [
    apiError(
      403,
      'pods "attach-disk-1" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 50.000000',
    ),
    'KUBERNETES_FORBIDDEN',
    /container hold, which .*raise the maxLimitRequestRatio of the LimitRange or lower its default limit, or keep/u,
  ],
  [
    apiError(
      403,
      'pods "bind-disk-1" is forbidden: minimum cpu usage per Container is 100m, but request is 1m',
    ),
    'KUBERNETES_FORBIDDEN',
    /container bind, which .*lower the min of the LimitRange/u,
  ],
  [
    apiError(
      403,
      'pods "attach-disk-1" is forbidden: failed quota: q: must specify limits.cpu for: hold; limits.memory for: hold',
    ),
    'KUBERNETES_FORBIDDEN',
    /no property sets limits\.cpu and limits\.memory of container hold: .*LimitRange .*defaults/u,
  ],
  [
    apiError(
      403,
      'pods "vm-1" is forbidden: failed quota: q: must specify limits.cpu for: bosh,prepare; requests.cpu for: bosh',
    ),
    'KUBERNETES_FORBIDDEN',
    /no property sets limits\.cpu of container prepare: .*LimitRange/u,
  ],
  [
    apiError(403, 'pods "vm-1" is forbidden: failed quota: q: must specify requests.cpu for: bosh'),
    'KUBERNETES_FORBIDDEN',
    /set requests\.cpu by resources in cloud_properties or by defaults\.resources$/u,
  ],
  [apiError(403, 'no'), 'KUBERNETES_FORBIDDEN', /must admit it$/u],
  [
    apiError(401, 'Unauthorized', { reason: 'Unauthorized' }),
    'KUBERNETES_UNAUTHORIZED',
    /of another cluster: renew .*kubernetes\.token .*service account/u,
  ],
  [
    apiError(404, 'namespaces "bosh" not found', { details: { kind: 'namespaces', name: 'bosh' } }),
    'KUBERNETES_NOT_FOUND',
    /create namespace bosh or correct kubernetes\.namespace/u,
  ],
  [
    apiError(404, 'the server could not find the requested resource', { details: {} }),
    'KUBERNETES_NOT_FOUND',
    /does not serve this kind of object/u,
  ],
  [
    apiError(404, 'pods "vm-1" not found', { details: { kind: 'pods', name: 'vm-1' } }),
    'KUBERNETES_NOT_FOUND',
    /deleted during the call, or never existed/u,
  ],
  [
    apiError(422, 'Pod "vm-1" is invalid', {
      details: { causes: [{ field: 'spec.containers[0].image', message: 'Required value' }] },
    }),
    'KUBERNETES_INVALID',
    /is invalid; spec\.containers\[0\]\.image: Required value; correct this value in the cloud_properties/u,
  ],
  [
    apiError(
      422,
      'Pod "vm-1" is invalid: [spec.containers[0].resources.requests: Invalid value: "100m": must be less than or equal to cpu limit of 50m, spec.containers[0].resources.requests: Invalid value: "1Gi": must be less than or equal to memory limit of 512Mi]',
      {},
      { method: 'POST', path: pods },
    ),
    'KUBERNETES_INVALID',
    /no property sets this limit of cpu and memory; it is the default of a LimitRange in namespace bosh \(kubectl get limitranges -n bosh\): set resources\.limits in cloud_properties .*or raise that default$/u,
  ],
  [
    apiError(
      422,
      'Pod "vm-1" is invalid: [spec.containers[0].resources.requests: Invalid value: "100m": must be less than or equal to cpu limit of 5m, spec.initContainers[0].resources.requests: Invalid value: "10m": must be less than or equal to cpu limit of 5m]',
    ),
    'KUBERNETES_INVALID',
    /container prepare, which .*raise the default limit of cpu in a LimitRange in namespace NAMESPACE/u,
  ],
  [
    apiError(
      422,
      'Pod "vm-1" is invalid: spec.containers[0].resources.requests: Invalid value: "10m": must be less than or equal to cpu limit of 5m',
    ),
    'KUBERNETES_INVALID',
    /set resources\.limits in cloud_properties/u,
  ],
  [apiError(400, 'unknown field "spec.x"'), 'KUBERNETES_INVALID', /correct/u],
  [
    apiError(413, 'Request entity too large: limit is 3145728'),
    'KUBERNETES_INVALID',
    /too large for the API/u,
  ],
  [apiError(415, 'the body was in an unknown format'), 'KUBERNETES_NOT_FOUND', /does not serve/u],
  [apiError(409, 'the object has been modified'), 'KUBERNETES_CONFLICT', /run the call again/u],
  [apiError(410, 'too old resource version'), 'KUBERNETES_CONFLICT', /run the call again/u],
  [apiError(429, 'too many requests'), 'KUBERNETES_BUSY', /check its load/u],
  [apiError(503, 'the server is currently unable to handle the request'), 'KUBERNETES_BUSY', /load/u],
  [apiError(408, 'the server answered 408'), 'KUBERNETES_BUSY', /load/u],
  [
    apiError(502, 'the server answered 502: <html>'),
    'KUBERNETES_BUSY',
    /proxy or load balancer in front of it/u,
  ],
  [apiError(524, 'the server answered 524'), 'KUBERNETES_BUSY', /proxy or load balancer in front of it/u],
  [apiError(500, 'etcdserver: mvcc: database space exceeded'), 'KUBERNETES_API', /API server's log/u],
];

test('each error of Kubernetes has a code, the message of the server and a next step', () => {
  for (const [error, code, next] of cases) {
    const explained = explainApiError(error);
    assert.equal(explained.code, code, error.message);
    assert.match(explained.message, next);
    assert.ok(explained.message.includes(error.message));
  }
});

test('a known request is described by its object and namespace', () => {
  const words = (method: ApiRequest['method'], path: string): string =>
    explainApiError(apiError(500, 'no', { reason: 'InternalError' }, { method, path })).message;
  assert.match(
    words('POST', pods),
    /^creating pods in namespace bosh failed: the Kubernetes API answered 500 InternalError: no; /u,
  );
  assert.match(words('DELETE', `${pods}/vm-1`), /^deleting pods vm-1 in namespace bosh failed: /u);
  assert.match(words('GET', `${pods}/vm-1/exec`), /^using exec of pods vm-1 in namespace bosh failed: /u);
  assert.match(
    words('GET', '/apis/storage.k8s.io/v1/storageclasses/fast'),
    /^reading storageclasses fast failed: /u,
  );
  assert.match(words('PATCH', '/version'), /^changing \/version failed: /u);
});

test('create_vm reports whether a retry may help, with the type that the director knows', () => {
  const retried = new Set<ErrorCode>([
    'QUOTA_EXCEEDED',
    'NO_DISK_SPACE',
    'KUBERNETES_CONFLICT',
    'KUBERNETES_BUSY',
    'KUBERNETES_API',
  ]);
  for (const [error, code] of cases) {
    const failed = creationError({ cid: 'vm-1', namespace: 'bosh' }, error, undefined) as {
      code: ErrorCode;
      message: string;
    };
    const { boshType, okToRetry } = errorTable[failed.code];
    assert.equal(boshType, 'Bosh::Clouds::VMCreationFailed');
    // the object was deleted during the call, so a retry helps; a missing namespace or kind needs an operator
    const isGone = error.message === 'pods "vm-1" not found';
    assert.equal(okToRetry, isGone || retried.has(code), error.message);
    if (failed.message.endsWith('run the call again')) assert.ok(okToRetry, failed.message);
    assert.match(failed.message, /^VM 'vm-1' in namespace bosh could not be created: /u);
  }
});
