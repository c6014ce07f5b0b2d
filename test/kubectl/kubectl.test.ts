import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { type LocalApi, openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { startApiServer, type ApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { FakeConsole } from '../../embedded-cluster/api-server/testing/fake-console.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { events, pods } from '../../src/kubernetes/resources.ts';
import { hasKubectl, Kubectl } from './kubectl.ts';

const skip = (await hasKubectl()) ? false : 'needs kubectl on PATH';
const oldest = 31;

describe('an unmodified kubectl', { skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-kubectl-'));
  const agents = new Set<string>();
  const errors: unknown[] = [];
  const fake = new FakeConsole();
  let api: LocalApi;
  let server: ApiServer;
  let kubectl: Kubectl;

  before(async () => {
    api = await openLocalApi({ directory });
    server = await startApiServer({
      api,
      console: fake,
      directory,
      onError: (error) => errors.push(error),
      onRequest: ({ headers }) => agents.add(headers['user-agent'] ?? ''),
    });
    kubectl = new Kubectl(server.kubeconfig, directory);
    await makeRunningPod(api);
  });
  after(async () => {
    await server.close();
    await api.close();
    rmSync(directory, { recursive: true });
    assert.deepEqual(errors, []);
  });

  /** Returns the stdout of a call that must succeed. */
  async function output(args: readonly string[], input = ''): Promise<string> {
    const { exitCode, stdout, stderr } = await kubectl.run(args, input);
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  test(`is 1.${oldest} or newer`, async (t) => {
    await output(['get', 'namespaces']);
    const versions = [...agents].map(clientVersion).filter((version) => version !== undefined);
    t.diagnostic(`kubectl that ran: ${versions.map(({ text }) => text).join(', ')}`);
    assert(versions.length > 0, `no kubectl among ${[...agents].join(', ')}`);
    for (const { text, minor } of versions) assert(minor >= oldest, `${text} is older than 1.${oldest}`);
  });

  test('get pods -o wide shows the columns', async () => {
    const [header, row] = (await output(['get', 'pods', '-o', 'wide'])).split('\n');
    assert.deepEqual(
      header?.split(/ {2,}/).map((column) => column.trim()),
      [...['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP', 'NODE', 'NOMINATED NODE', 'READINESS GATES']],
    );
    assert.match(row ?? '', /^vm-1 +1\/1 +Running +0 +\d+s +127\.64\.0\.9 +embedded +<none> +<none>$/);
  });

  test('get and describe show services and endpointslices', async () => {
    const service =
      'apiVersion: v1\nkind: Service\nmetadata: {name: hello}\n' +
      'spec: {type: NodePort, clusterIP: 127.127.0.7, selector: {job: hello}, ports: [{port: 80, nodePort: 30080}]}\n';
    await output(['apply', '-f', '-'], service);
    const [header, row] = (await output(['get', 'svc', '-o', 'wide'])).split('\n');
    assert.match(header ?? '', /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE +SELECTOR$/);
    assert.match(row ?? '', /^hello +NodePort +127\.127\.0\.7 +<none> +80:30080\/TCP +\d+s +job=hello$/);
    assert.match(await output(['describe', 'service', 'hello']), /^NodePort: +<unset> +30080\/TCP$/m);
    assert.equal(await output(['apply', '-f', '-'], service), 'service/hello unchanged\n');
    const slice =
      'apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n' +
      'metadata: {name: hello-1, labels: {kubernetes.io/service-name: hello}}\n' +
      'endpoints: [{addresses: [127.64.0.9]}]\nports: [{port: 8080}]\n';
    await output(['create', '-f', '-'], slice);
    assert.match(await output(['get', 'endpointslices']), /^hello-1 +IPv4 +8080 +127\.64\.0\.9 +\d+s$/m);
    await output(['delete', 'svc/hello', 'endpointslice/hello-1']);
  });

  test('get supports -o yaml, labels, fields and all namespaces', async () => {
    assert.match(await output(['get', 'pod', 'vm-1', '-o', 'yaml']), /^ {2}uid: [0-9a-f-]{36}$/m);
    assert.equal(await output(['get', 'pods', '-l', 'job in (hello)', '-o', 'name']), 'pod/vm-1\n');
    assert.equal(
      await output(['get', 'pods', '-A', '--field-selector=spec.nodeName=embedded', '-o', 'name']),
      'pod/vm-1\n',
    );
    assert.equal(await output(['get', 'all', '-o', 'name']), 'pod/vm-1\n');
  });

  test('get -w and wait see changes without watch lists', async () => {
    const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: watched}\n';
    const watching = kubectl.start(['get', 'configmaps', '-w', '-o', 'name']);
    const seen: string[] = [];
    const closed = once(watching, 'close');
    watching.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (seen.length === 0) void output(['create', '-f', '-'], configMap);
      seen.push(text);
      if (seen.join('').includes('configmap/watched\n')) watching.kill();
    });
    await output(['create', 'configmap', 'first']);
    await closed;
    const patched = output([
      'wait',
      'configmap/watched',
      '--for=jsonpath={.data.ready}=yes',
      '--timeout=20s',
    ]);
    await output(['patch', 'configmap', 'watched', '-p', '{"data":{"ready":"yes"}}']);
    assert.equal(await patched, 'configmap/watched condition met\n');
    await output(['delete', 'configmap', 'watched', 'first']);
  });

  test('describe pod shows its events', async () => {
    const text = await output(['describe', 'pod', 'vm-1']);
    assert.match(text, /^Node: +embedded\/127\.0\.0\.1$/m);
    assert.match(text, /^Status: +Running$/m);
    assert.match(text, /^ {4}State: +Running$/m);
    assert.match(text, /^ {2}Normal +Started +\d+s +kubelet +Started container bosh$/m);
  });

  test('get events shows and selects events', async () => {
    assert.match(await output(['get', 'events']), /Normal +Started +pod\/vm-1 +Started container bosh/);
    const selected = ['get', 'events', '--field-selector', 'involvedObject.name=other'];
    assert.match((await kubectl.run(selected)).stderr, /No resources found/);
  });

  test('create -f, apply, label, annotate, patch and delete change an object', async () => {
    const manifest = (value: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: ${value}, other: kept}\n`;
    assert.equal(
      await output(['create', '--save-config', '-f', '-'], manifest('one')),
      'configmap/settings created\n',
    );
    assert.equal(await output(['apply', '-f', '-'], manifest('two')), 'configmap/settings configured\n');
    assert.equal(await output(['apply', '-f', '-'], manifest('two')), 'configmap/settings unchanged\n');
    assert.equal(await output(['label', 'configmap', 'settings', 'a=b']), 'configmap/settings labeled\n');
    assert.equal(
      await output(['annotate', 'configmap', 'settings', 'c=d']),
      'configmap/settings annotated\n',
    );
    await output([
      'patch',
      'configmap',
      'settings',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/data/other"}]',
    ]);
    const path = '{.data}{.metadata.labels.a}{.metadata.annotations.c}';
    assert.equal(await output(['get', 'configmap', 'settings', '-o', `jsonpath=${path}`]), '{"key":"two"}bd');
    assert.match(await output(['delete', 'configmap', 'settings']), /^configmap "settings" deleted/);
    const again = await kubectl.run(['get', 'configmap', 'settings']);
    assert.equal(again.exitCode, 1);
    assert.match(again.stderr, /^Error from server \(NotFound\): configmaps "settings" not found$/m);
  });

  test('apply merges lists by their keys', async () => {
    const pod = (label: string): string =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: applied, labels: {v: ${label}}}\nspec: {containers: [{name: c, image: "x:1"}]}\n`;
    await output(['apply', '-f', '-'], pod('one'));
    assert.equal(await output(['apply', '-f', '-'], pod('two')), 'pod/applied configured\n');
    assert.match(await output(['delete', 'pod', 'applied']), /^pod "applied" deleted/);
  });

  test('a refused object is reported with the reason', async () => {
    const unknown =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {hostIPC: true, containers: [{name: c, image: "x:1"}]}\n';
    const refused = await kubectl.run(['create', '-f', '-'], unknown);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /unknown field "spec\.hostIPC"/);
    const invalid = await kubectl.run(
      ['create', '-f', '-'],
      unknown.replace('hostIPC: true', 'restartPolicy: Sometimes'),
    );
    assert.match(invalid.stderr, /spec\.restartPolicy: Unsupported value: "Sometimes"/);
  });

  test('create namespace, secret and configmap work, which kubectl sends as protobuf', async () => {
    assert.equal(await output(['create', 'namespace', 'extra']), 'namespace/extra created\n');
    const literals = ['--from-literal=user=admin', '--from-literal=empty='];
    assert.equal(
      await output(['create', 'secret', 'generic', 'login', ...literals]),
      'secret/login created\n',
    );
    const data = ['get', 'secret', 'login', '-o', 'jsonpath={.data}{.type}'];
    assert.equal(await output(data), '{"empty":"","user":"YWRtaW4="}Opaque');
    await output(['create', 'configmap', 'motd', '--from-literal=text=grüße']);
    assert.equal(await output(['get', 'configmap', 'motd', '-o', 'jsonpath={.data.text}']), 'grüße');
    await output(['delete', 'secret/login', 'configmap/motd']);
  });

  test('dry runs store nothing', async () => {
    assert.equal(
      await output(['run', 'dry', '--image=x:1', '--dry-run=server']),
      'pod/dry created (server dry run)\n',
    );
    assert.equal((await kubectl.run(['get', 'pod', 'dry'])).exitCode, 1);
  });

  test('delete of a running pod waits until the node has stopped it', async () => {
    await makeRunningPod(api, 'going');
    const deleting = output(['delete', 'pod', 'going']);
    const reference = { resource: pods, namespace: 'bosh', name: 'going' };
    for await (const event of api.watch(pods, { namespace: 'bosh', fieldSelector: 'metadata.name=going' })) {
      if (event.type === 'MODIFIED' && event.object.metadata.deletionTimestamp !== undefined) break;
    }
    assert.match(await output(['get', 'pod', 'going']), /going +1\/1 +Terminating/);
    await api.delete(reference, { gracePeriodSeconds: 0 });
    assert.match(await deleting, /^pod "going" deleted/);
  });

  test('logs, logs --tail and logs -f print the log', async () => {
    fake.print('first');
    fake.print('second');
    assert.equal(await output(['logs', 'vm-1']), 'first\nsecond\n');
    assert.equal(await output(['logs', 'vm-1', '-c', 'bosh', '--tail=1']), 'second\n');
    const following = kubectl.start(['logs', '-f', 'vm-1', '--tail=1']);
    const lines: string[] = [];
    following.stdout.setEncoding('utf8').on('data', (text: string) => {
      lines.push(text);
      if (lines.join('') === 'second\n') fake.print('third');
      if (lines.join('') === 'second\nthird\n') fake.endLog();
    });
    const [code] = (await once(following, 'close')) as [number];
    assert.equal(code, 0);
    assert.equal(lines.join(''), 'second\nthird\n');
  });

  test("logs of a pod without logs prints the server's message", async () => {
    const previous = await kubectl.run(['logs', 'vm-1', '--previous']);
    assert.match(previous.stderr, /previous terminated container "bosh" in pod "vm-1" not found/);
    const wrong = await kubectl.run(['logs', 'vm-1', '-c', 'none']);
    assert.match(wrong.stderr, /container none is not valid for pod vm-1/);
  });

  test('exec passes stdin and returns output and exit code', async () => {
    assert.deepEqual(await kubectl.run(['exec', 'vm-1', '--', 'echo', 'a b', '$c']), {
      exitCode: 0,
      stdout: 'a b $c\n',
      stderr: '',
    });
    const failed = await kubectl.run(['exec', 'vm-1', '--', 'fail', '42']);
    assert.equal(failed.exitCode, 42);
    assert.match(failed.stderr, /^it failed$/m);
    const input = 'grüße\n'.repeat(20_000);
    assert.equal(await output(['exec', '-i', 'vm-1', '--', 'cat'], input), input);
  });

  test('exec reports a command that cannot run', async () => {
    const missing = await kubectl.run(['exec', 'vm-1', '--', 'no-such-program']);
    assert.equal(missing.exitCode, 1);
    assert.match(missing.stderr, /executable file not found/);
    const notFound = await kubectl.run(['exec', 'no-such-pod', '--', 'echo']);
    assert.match(notFound.stderr, /pods "no-such-pod" not found/);
  });

  test('explain and api-resources show the served kinds', async () => {
    assert.match(await output(['explain', 'pod.spec.volumes.emptyDir']), /medium/);
    const resources = await output(['api-resources', '-o', 'name']);
    assert.deepEqual(resources.trim().split('\n').toSorted(), [...api.registry.kinds.keys()].toSorted());
    assert(resources.includes('storageclasses.storage.k8s.io\n'));
    assert.match(
      (await kubectl.run(['get', 'networkpolicies'])).stderr,
      /doesn't have a resource type "networkpolicies"/,
    );
  });

  test('a Deployment is refused by name, and a pod is deleted in the background only', async () => {
    const created = await kubectl.run(['create', 'deployment', 'web', '--image=x:1']);
    assert.equal(created.exitCode, 1);
    assert.match(created.stderr, /does not serve deployments of apps\/v1 \(embedded-cluster\/README\.md/u);
    const manifest = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n';
    assert.match(
      (await kubectl.run(['apply', '-f', '-'], manifest)).stderr,
      /no matches for kind "Deployment" in version "apps\/v1"/u,
    );
    for (const args of [
      'get deployments',
      'scale --replicas=2 deployment/web',
      'rollout status deployment/web',
    ])
      assert.match(
        (await kubectl.run(args.split(' '))).stderr,
        /doesn't have a resource type "deployments?"/u,
        args,
      );
    await output(['run', 'alone', '--image=x:1']);
    for (const policy of ['foreground', 'orphan']) {
      const { stderr } = await kubectl.run(['delete', 'pod', 'alone', `--cascade=${policy}`]);
      assert.match(stderr, /propagationPolicy "(?:Foreground|Orphan)" is not served/u, policy);
    }
    assert.match(await output(['delete', 'pod', 'alone', '--cascade=background']), /^pod "alone" deleted/);
  });
});

/** Writes what scheduler and node would have written for a running pod. */
async function makeRunningPod(api: LocalApi, name = 'vm-1'): Promise<void> {
  const pod = await api.create<Pod>(pods, {
    metadata: { namespace: 'bosh', name, labels: name === 'vm-1' ? { job: 'hello' } : {} },
    spec: { containers: [{ name: 'bosh', image: 'embedded.bosh-kubernetes/host-root:1' }] },
  });
  await api.bindPod('bosh', name, 'embedded');
  const now = pod.metadata.creationTimestamp ?? '';
  const status: Pod['status'] = {
    phase: 'Running',
    hostIP: '127.0.0.1',
    podIP: '127.64.0.9',
    podIPs: [{ ip: '127.64.0.9' }],
    startTime: now,
    containerStatuses: [
      {
        name: 'bosh',
        image: 'embedded.bosh-kubernetes/host-root:1',
        imageID: 'host-root',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: now } },
      },
    ],
  };
  await api.patch({ resource: pods, namespace: 'bosh', name }, { status }, { subresource: 'status' });
  const event: KubernetesObject & Record<string, unknown> = {
    metadata: { namespace: 'bosh', name: `${name}.1` },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'bosh', name, uid: pod.metadata.uid },
    reason: 'Started',
    message: 'Started container bosh',
    type: 'Normal',
    source: { component: 'kubelet', host: 'embedded' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
  await api.create(events, event);
}

/**
 * Parses the version from a User-Agent such as `kubectl/v1.32.4 (linux/amd64) kubernetes/c0a9f5d`, which is
 * that of the program that really ran.
 */
function clientVersion(userAgent: string): { readonly text: string; readonly minor: number } | undefined {
  const [text, minor] = /^kubectl(?!-dispatcher)[^/]*\/v1\.(\d+)\S*/.exec(userAgent) ?? [];
  return text === undefined ? undefined : { text, minor: Number(minor) };
}
