import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/api-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { configMaps, persistentVolumeClaims, pods, secrets } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import type { ConfigMap } from './contract-objects.ts';
import type { Subject } from './subject.ts';

/** create, replace and patch. */
export function writeContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  test('create gives uid, creationTimestamp and resourceVersion', async () => {
    const { api, namespace } = subject;
    const created = await api.create(configMaps, configMap(namespace, 'identity'));
    assert.match(
      created.metadata.uid ?? '',
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.match(created.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.match(created.metadata.resourceVersion ?? '', /^\d+$/);
  });

  test('create of what exists is 409 AlreadyExists and names it', async () => {
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'twice'));
    await assert.rejects(api.create(configMaps, configMap(namespace, 'twice')), (error) => {
      assert(isApiError(error, 409, 'AlreadyExists'));
      assert.equal(error.message, 'configmaps "twice" already exists');
      assert.deepEqual(error.status.details, { name: 'twice', kind: 'configmaps' });
      return true;
    });
  });

  test('create in a namespace that is not there is 404', async () => {
    await assert.rejects(
      subject.api.create(configMaps, configMap('no-such-namespace', 'a')),
      (error) =>
        isApiError(error, 404, 'NotFound') && error.message === 'namespaces "no-such-namespace" not found',
    );
  });

  test('generateName gets five characters', async () => {
    const { api, namespace } = subject;
    const nameless: KubernetesObject = { metadata: { namespace, generateName: 'gen-' } };
    const made = await api.create(configMaps, nameless);
    assert.match(made.metadata.name ?? '', /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
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

  test('pods get their defaults, the default tolerations and a class of service', async () => {
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
    const asked = (dnsConfig: NonNullable<Pod['spec']['dnsConfig']>): Promise<Pod> => {
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
        asked({ nameservers: [...nameservers] }),
        (error) => isApiError(error, 422) && error.message.includes(field),
      );
    }
    const dnsConfig = {
      nameservers: four.slice(1),
      searches: ['a.example.org.'],
      options: [{ name: 'ndots' }],
    };
    assert.deepEqual((await asked(dnsConfig)).spec.dnsConfig, dnsConfig);
  });

  // kubernetes: pkg/apis/core/validation/validation.go, ValidateSecurityContext and validateSeccompProfileField
  test('a securityContext that contradicts itself, and profiles that are none, are invalid', async () => {
    const { api, namespace } = subject;
    const refused = async (securityContext: object, words: string): Promise<void> => {
      const pod = unschedulablePod(namespace, 'security');
      for (const container of pod.spec.containers) container.securityContext = securityContext;
      await assert.rejects(
        api.create(pods, pod),
        (error) => isApiError(error, 422) && error.message.includes(words),
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

  test('a claim gets its protection, its mode and phase Pending', async () => {
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

  test('replace with an old resourceVersion is 409 Conflict, without one it is unconditional', async () => {
    const { api, namespace } = subject;
    const first = await api.create<ConfigMap>(configMaps, configMap(namespace, 'versions'));
    const second = await api.replace<ConfigMap>(configMaps, { ...first, data: { a: '1' } });
    assert(Number(second.metadata.resourceVersion) > Number(first.metadata.resourceVersion));
    await assert.rejects(api.replace(configMaps, { ...first, data: { a: '2' } }), (error) => {
      assert(isApiError(error, 409, 'Conflict'));
      assert.match(
        error.message,
        /^Operation cannot be fulfilled on configmaps "versions": the object has been modified; /,
      );
      return true;
    });
    const third = await api.replace<ConfigMap>(
      configMaps,
      configMap(namespace, 'versions', { data: { a: '3' } }),
    );
    assert.deepEqual(third.data, { a: '3' });
    assert.equal(third.metadata.uid, first.metadata.uid);
  });

  test('a replace that changes nothing keeps the resourceVersion', async () => {
    const { api, namespace } = subject;
    const made = await api.create(configMaps, configMap(namespace, 'same'));
    const again = await api.replace(configMaps, made);
    assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion);
  });

  test('replace of what is not there is 404', async () => {
    const { api, namespace } = subject;
    await assert.rejects(api.replace(configMaps, configMap(namespace, 'absent')), (error) =>
      isApiError(error, 404),
    );
  });

  test("a pod's spec is immutable", async () => {
    const { api, namespace } = subject;
    const pod = await api.create<Pod>(pods, unschedulablePod(namespace, 'frozen'));
    await assert.rejects(
      // without a version: a scheduler may have written meanwhile
      api.replace(pods, {
        ...pod,
        metadata: { namespace, name: 'frozen' },
        spec: { ...pod.spec, restartPolicy: 'Never' },
      }),
      (error) => {
        assert(isApiError(error, 422, 'Invalid'));
        assert.match(error.message, /spec: Forbidden: pod updates may not change fields other than/);
        return true;
      },
    );
  });

  test('the main resource does not write status, and status writes neither spec nor more', async () => {
    const { api, namespace } = subject;
    const pod = await api.create<Pod>(pods, unschedulablePod(namespace, 'halves'));
    const metadata = { namespace, name: 'halves' };
    const main = await api.replace<Pod>(pods, { ...pod, metadata, status: { phase: 'Running' } });
    assert.equal(main.status?.phase, 'Pending');
    const changed = {
      ...main,
      metadata,
      spec: { ...main.spec, hostname: 'x' },
      status: { ...main.status, message: 'seen' },
    };
    const status = await api.replace<Pod>(pods, changed, 'status');
    assert.equal(status.status?.message, 'seen');
    assert.equal(status.spec.hostname, undefined);
  });

  test('a merge patch sets, and deletes by null', async () => {
    const { api, namespace } = subject;
    await api.create(
      configMaps,
      configMap(namespace, 'merged', { data: { a: '1', b: '2' }, labels: { l: 'm' } }),
    );
    const reference = { resource: configMaps, namespace, name: 'merged' };
    const patched = await api.patch<ConfigMap>(reference, {
      data: { a: null, c: '3' },
      metadata: { labels: null },
    });
    assert.deepEqual(patched.data, { b: '2', c: '3' });
    assert.equal(patched.metadata.labels, undefined);
  });

  test('a merge patch with an old resourceVersion is 409', async () => {
    const { api, namespace } = subject;
    const first = await api.create(configMaps, configMap(namespace, 'conditional'));
    const reference = { resource: configMaps, namespace, name: 'conditional' };
    await api.patch(reference, { data: { a: '1' } });
    const stale = { metadata: { resourceVersion: first.metadata.resourceVersion }, data: { a: '2' } };
    await assert.rejects(api.patch(reference, stale), (error) => isApiError(error, 409, 'Conflict'));
  });

  test('a JSON patch applies as a whole or, with 422, not at all', async () => {
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'operations', { data: { a: '1' } }));
    const reference = { resource: configMaps, namespace, name: 'operations' };
    const type = 'application/json-patch+json';
    const patched = await api
      .patch<ConfigMap>(
        reference,
        [
          { op: 'test', path: '/data/a', value: '1' },
          { op: 'add', path: '/data/b~1c', value: '2' },
        ],
        { type },
      )
      .catch((error: unknown) => error);
    // a slash cannot be in a key of a ConfigMap: nothing of the patch may stay
    assert(isApiError(patched, 422));
    const failing = [
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'test', path: '/data/a', value: 'other' },
    ];
    await assert.rejects(api.patch(reference, failing, { type }), (error) => isApiError(error, 422));
    assert.deepEqual((await api.get<ConfigMap>(reference)).data, { a: '1' });
    const good = await api.patch<ConfigMap>(reference, failing.slice(0, 1), { type });
    assert.deepEqual(good.data, { a: '1', b: '2' });
  });

  test('a patch of status leaves the rest alone', async () => {
    const { api, namespace } = subject;
    await api.create<Pod>(pods, unschedulablePod(namespace, 'status-patch'));
    const reference = { resource: pods, namespace, name: 'status-patch' };
    const patched = await api.patch<Pod>(
      reference,
      { status: { reason: 'Because' }, spec: { hostname: 'x' } },
      { subresource: 'status' },
    );
    assert.equal(patched.status?.reason, 'Because');
    assert.equal(patched.spec.hostname, undefined);
  });
}
