import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { configMaps, persistentVolumeClaims, pods, secrets } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import type { Subject } from './subject.ts';

/**
 * create: names, defaults and validation (api-conventions.md, metadata; apiserver:
 * pkg/registry/rest/create.go, pkg/storage/names/generate.go; kubernetes: pkg/apis/core/v1/defaults.go,
 * pkg/apis/core/validation/validation.go, plugin/pkg/admission/defaulttolerationseconds,
 * plugin/pkg/admission/storage/storageobjectinuseprotection).
 */
export function createContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  test('create gives uid, creationTimestamp and resourceVersion', async () => {
    const { api, namespace } = subject;
    const created = await api.create(configMaps, configMap(namespace, 'identity'));
    assert.match(
      created.metadata.uid,
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.match(created.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.match(created.metadata.resourceVersion, /^\d+$/);
  });

  test('create of an existing object is 409 AlreadyExists and names it', async () => {
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'twice'));
    await assert.rejects(api.create(configMaps, configMap(namespace, 'twice')), (error) => {
      assert(isApiError(error, 409, 'AlreadyExists'));
      assert.equal(error.message, 'configmaps "twice" already exists');
      assert.deepEqual(error.status.details, { name: 'twice', kind: 'configmaps' });
      return true;
    });
  });

  test('create in a missing namespace is 404', async () => {
    await assert.rejects(
      subject.api.create(configMaps, configMap('no-such-namespace', 'a')),
      (error) =>
        isApiError(error, 404, 'NotFound') && error.message === 'namespaces "no-such-namespace" not found',
    );
  });

  test('generateName gets five characters', async () => {
    const { api, namespace } = subject;
    const nameless: KubernetesObject = { metadata: { name: '', namespace, generateName: 'gen-' } };
    const made = await api.create(configMaps, nameless);
    assert.match(made.metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test('an invalid object is 422 with a cause for each field', async () => {
    const { api, namespace } = subject;
    const pod = { metadata: { namespace, name: 'Bad' }, spec: { containers: [{ name: 'main' }] } };
    await assert.rejects(api.create(pods, pod), (error) => {
      assert(isApiError(error, 422, 'Invalid'));
      assert.match(
        error.message,
        /^Pod "Bad" is invalid: \[metadata\.name: Invalid value: "Bad": a lowercase RFC 1123/,
      );
      const fields = error.status.details?.causes?.map(({ field }) => field);
      assert.deepEqual(fields, ['metadata.name', 'spec.containers[0].image']);
      assert.equal(error.status.details?.kind, 'Pod');
      return true;
    });
  });

  test('an unknown field is 400, not dropped', async () => {
    const { api, namespace } = subject;
    const pod = unschedulablePod(namespace, 'unknown') as Pod & { spec: { nonsense?: boolean } };
    pod.spec.nonsense = true;
    await assert.rejects(
      api.create(pods, pod),
      (error) =>
        isApiError(error, 400, 'BadRequest') && error.message.includes('unknown field "spec.nonsense"'),
    );
  });

  test('a pod gets its defaults, the default tolerations and a QoS class', async () => {
    const { api, namespace } = subject;
    const pod = await api.create<Pod>(pods, unschedulablePod(namespace, 'defaults'));
    assert.equal(pod.spec.restartPolicy, 'Always');
    assert.equal(pod.spec.terminationGracePeriodSeconds, 30);
    assert.equal(pod.spec.containers[0]?.imagePullPolicy, 'IfNotPresent');
    assert.equal(pod.status?.phase, 'Pending');
    assert.equal(pod.status?.qosClass, 'BestEffort');
    const seconds = pod.spec.tolerations?.filter(({ effect }) => effect === 'NoExecute');
    assert.deepEqual(
      seconds?.map(({ tolerationSeconds }) => tolerationSeconds),
      [300, 300],
    );
  });

  test('Bidirectional needs a privileged container', async () => {
    const { api, namespace } = subject;
    const pod = unschedulablePod(namespace, 'propagation');
    pod.spec.volumes = [{ name: 'hub', emptyDir: {} }];
    for (const container of pod.spec.containers) {
      container.volumeMounts = [{ name: 'hub', mountPath: '/hub', mountPropagation: 'Bidirectional' }];
    }
    await assert.rejects(
      api.create(pods, pod),
      (error) => isApiError(error, 422) && error.message.includes('only to privileged containers'),
    );
  });

  // kubernetes: pkg/apis/core/validation/validation.go, validatePodDNSConfig
  test('name servers of a pod are addresses, three at most, and under None at least one', async () => {
    const { api, namespace } = subject;
    const createWith = (dnsConfig: NonNullable<Pod['spec']['dnsConfig']>): Promise<Pod> => {
      const pod = unschedulablePod(namespace, 'name-servers');
      pod.spec.dnsPolicy = 'None';
      pod.spec.dnsConfig = dnsConfig;
      return api.create(pods, pod);
    };
    const four = ['10.0.0.1', '10.0.0.2', 'fd00::3', '10.0.0.4'];
    for (const [nameservers, field] of [
      [[], 'spec.dnsConfig.nameservers: Required'],
      [['dns.example.org'], 'spec.dnsConfig.nameservers[0]: Invalid'],
      [four, 'spec.dnsConfig.nameservers: Invalid'],
    ] as const) {
      await assert.rejects(
        createWith({ nameservers: [...nameservers] }),
        (error) => isApiError(error, 422) && error.message.includes(field),
      );
    }
    const dnsConfig = {
      nameservers: four.slice(1),
      searches: ['a.example.org.'],
      options: [{ name: 'ndots' }],
    };
    assert.deepEqual((await createWith(dnsConfig)).spec.dnsConfig, dnsConfig);
  });

  // kubernetes: pkg/apis/core/validation/validation.go, ValidateSecurityContext and
  // validateSeccompProfileField
  test('a contradictory securityContext, and unknown profiles, are invalid', async () => {
    const { api, namespace } = subject;
    const refused = async (securityContext: object, message: string): Promise<void> => {
      const pod = unschedulablePod(namespace, 'security');
      for (const container of pod.spec.containers) container.securityContext = securityContext;
      await assert.rejects(
        api.create(pods, pod),
        (error) => isApiError(error, 422) && error.message.includes(message),
      );
    };
    await refused({ privileged: true, allowPrivilegeEscalation: false }, '`privileged` to true');
    await refused(
      { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } },
      '`capabilities.Add` CAP_SYS_ADMIN',
    );
    await refused({ runAsUser: -1 }, 'must be between 0 and 2147483647, inclusive');
    await refused({ seccompProfile: { type: 'Loose' } }, 'Unsupported value: "Loose"');
    await refused({ seccompProfile: { type: 'Localhost' } }, 'localhostProfile: Required value');
    await refused({ appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } }, 'can only be set when');
  });

  test('a claim gets its protection finalizer, its mode and phase Pending', async () => {
    const { api, namespace } = subject;
    const claim = {
      metadata: { namespace, name: 'claim' },
      spec: {
        storageClassName: 'contract-none',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Mi' } },
      },
    };
    const made = await api.create<KubernetesObject & { spec: object; status?: object }>(
      persistentVolumeClaims,
      claim,
    );
    assert.deepEqual(made.metadata.finalizers, ['kubernetes.io/pvc-protection']);
    assert.deepEqual(made.status, { phase: 'Pending' });
    assert.equal((made.spec as { volumeMode?: string }).volumeMode, 'Filesystem');
  });

  test('stringData of a Secret becomes data', async () => {
    const { api, namespace } = subject;
    const secret = { metadata: { namespace, name: 'folded' }, stringData: { a: 'grün' } };
    const made = await api.create<KubernetesObject & { data?: object; stringData?: object }>(secrets, secret);
    assert.deepEqual(made.data, { a: Buffer.from('grün').toString('base64') });
    assert.equal(made.stringData, undefined);
  });
}
