import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type LocalApi, openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { startApiServer, type ApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { FakeConsole } from '../../embedded-cluster/api-server/testing/fake-console.ts';
import { volumeSnapshots } from '../../src/kubernetes/resources.ts';
import type { Ran } from '../support/run.ts';
import { hasKubectl, Kubectl } from './kubectl.ts';

const skip = (await hasKubectl()) ? false : 'needs kubectl on PATH';

const notServed = {
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  StatefulSet: 'apps/v1',
  LimitRange: 'v1',
};
const network = (config: string): string => `
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: net-1}
spec: {config: ${config}}
`;
const snapshot = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: snap-1}
spec: {volumeSnapshotClassName: local, source: {persistentVolumeClaimName: disk-1}}
`;

describe('kubectl', { skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-kubectl-'));
  const errors: unknown[] = [];
  let api: LocalApi;
  let server: ApiServer;
  let kubectl: Kubectl;

  before(async () => {
    api = await openLocalApi({ directory });
    const onError = (error: unknown): void => void errors.push(error);
    server = await startApiServer({ api, console: new FakeConsole(), directory, onError });
    kubectl = new Kubectl(server.kubeconfig, directory);
  });
  after(async () => {
    await server.close();
    await api.close();
    rmSync(directory, { recursive: true });
    assert.deepEqual(errors, []);
  });

  const run = (line: string, input = ''): Promise<Ran> => kubectl.run(line.split(' '), input);
  /** Returns the stdout of a call that must succeed. */
  async function output(line: string, input = ''): Promise<string> {
    const { exitCode, stdout, stderr } = await run(line, input);
    assert.equal(exitCode, 0, `kubectl ${line}: ${stderr}`);
    return stdout;
  }

  for (const [kind, apiVersion] of Object.entries(notServed))
    test(`refuses a ${kind}, because the kind is not served`, async () => {
      const object = { apiVersion, kind, metadata: { name: 'one' } };
      const { exitCode, stderr } = await run('apply -f -', JSON.stringify(object));
      assert.equal(exitCode, 1);
      assert.match(stderr, new RegExp(`no matches for kind "${kind}" in version "${apiVersion}"`));
    });

  test('refuses apply --server-side by name', async () => {
    const { exitCode, stderr } = await run('apply --server-side -f -', network('first'));
    assert.equal(exitCode, 1);
    assert.match(stderr, /Server-side apply not available .*leave out --server-side/);
  });

  test('applies an object, applies it again, explains it, and refuses an invalid one', async () => {
    assert.match(await output('api-resources'), /net-attach-def +k8s\.cni\.cncf\.io\/v1 +true/);
    assert.match(await output('explain net-attach-def.spec'), /config\s+<string>/);
    await output('apply -f -', network('first'));
    await output('apply -f -', network('second'));
    assert.equal(await output('get net-attach-def net-1 -o jsonpath={.spec.config}'), 'second');
    const { exitCode, stderr } = await run('apply -f -', network('{}'));
    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      /cannot unmarshal object .*spec\.config of type string|spec\.config: expected string/,
    );
    const typo = await run('apply -f -', network('x, confg: y'));
    assert.match(typo.stderr, /unknown field "spec\.confg"/);
  });

  test('refuses an unknown field with every --validate, and stores nothing with --dry-run=server', async () => {
    const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dry}\n';
    for (const validate of ['strict', 'warn', 'ignore']) {
      const { exitCode, stderr } = await run(
        `create --validate=${validate} -f -`,
        `${configMap}nonsense: 1\n`,
      );
      assert.equal(exitCode, 1);
      assert.match(stderr, /strict decoding error: unknown field "nonsense"/);
    }
    assert.equal(
      await output('create --dry-run=server -f -', configMap),
      'configmap/dry created (server dry run)\n',
    );
    assert.match((await run('get configmap dry')).stderr, /NotFound/);
  });

  test('lists every object once with --chunk-size', async () => {
    for (const name of ['c1', 'c2', 'c3']) await output(`create configmap ${name}`);
    assert.equal(
      await output('get configmaps --chunk-size=1 -o name'),
      'configmap/c1\nconfigmap/c2\nconfigmap/c3\n',
    );
  });

  test('sends a strategic merge patch from the command line', async () => {
    await output('create configmap patched --from-literal=a=1');
    const patch = { data: { $patch: 'replace', b: '2' } };
    await kubectl.run(['patch', 'configmap', 'patched', '--type=strategic', '-p', JSON.stringify(patch)]);
    assert.equal(await output('get configmap patched -o jsonpath={.data}'), '{"b":"2"}');
  });

  test('knows the snapshot kinds from the start, with their columns', async () => {
    await output('create -f -', snapshot);
    const status = { readyToUse: true, restoreSize: '1Gi', boundVolumeSnapshotContentName: 'content-1' };
    const reference = { resource: volumeSnapshots, namespace: 'bosh', name: 'snap-1' };
    await api.patch(reference, { status }, { subresource: 'status' });
    const [header, row] = (await output('get vs')).split('\n');
    assert.match(
      header ?? '',
      /^NAME +READYTOUSE +SOURCEPVC +SOURCESNAPSHOTCONTENT +RESTORESIZE +SNAPSHOTCLASS +SNAPSHOTCONTENT +CREATIONTIME +AGE$/,
    );
    assert.match(row ?? '', /^snap-1 +true +disk-1 +1Gi +local +content-1 +\d+s/);
  });
});
