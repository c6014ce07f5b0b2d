import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { builtCluster } from '../../embedded-cluster/daemon/cluster-state.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { checkRequirements } from '../../embedded-cluster/daemon/check-requirements.ts';
import { removeClusterDirectory } from '../../embedded-cluster/daemon/remove-cluster-directory.ts';
import { startDaemon } from '../../embedded-cluster/daemon/start-daemon.ts';
import { stopDaemon } from '../../embedded-cluster/daemon/stop-daemon.ts';
import { hasKubectl, Kubectl } from './kubectl.ts';

const skip = await obstacle();

async function obstacle(): Promise<string | false> {
  if (!(await hasKubectl())) return 'needs kubectl on PATH';
  try {
    await checkRequirements(tmpdir());
    return false;
  } catch (error) {
    if (!isProductError(error, 'CLUSTER_UNSUPPORTED')) throw error;
    return `needs namespaces: ${error.message}`;
  }
}

const manifest = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: real, annotations: {bosh.cloudfoundry.org/ip-address: 127.64.77.9}}
spec:
  terminationGracePeriodSeconds: 5
  volumes: [{name: disk, persistentVolumeClaim: {claimName: disk}}]
  containers:
  - name: main
    image: embedded.bosh-kubernetes/host-root:1
    command: [sh, -c, "trap 'exit 0' TERM; echo started; while :; do echo alive; sleep 0.1; done"]
    volumeMounts: [{name: disk, mountPath: /data}]
`;

describe('kubectl on the whole embedded cluster', { skip, timeout: 120_000 }, () => {
  const workDirectory = skip === false ? mkdtempSync(join(tmpdir(), 'bosh-kubernetes-kubectl-')) : '';
  const directory = join(workDirectory, 'cluster');
  let kubectl: Kubectl;

  before(async () => {
    const runtimeDirectory = join(workDirectory, 'runtime');
    mkdirSync(runtimeDirectory);
    const main = builtCluster(join(import.meta.dirname, '..', '..'));
    const { kubeconfig } = await startDaemon({
      directory,
      runtimeDirectory,
      nodeBinary: process.execPath,
      main,
    });
    kubectl = new Kubectl(kubeconfig, workDirectory);
    await output(['apply', '-f', '-'], manifest);
    await output(['wait', '--for=condition=Ready', 'pod/real', '--timeout=25s']);
  });
  after(async () => {
    await stopDaemon(directory);
    await removeClusterDirectory(directory);
    rmSync(workDirectory, { recursive: true });
  });

  async function output(args: readonly string[], input = ''): Promise<string> {
    const { exitCode, stdout, stderr } = await kubectl.run(args, input);
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  test('get pods -o wide, describe pod and get events show a pod', async () => {
    assert.match(
      await output(['get', 'pods', '-o', 'wide']),
      /^real +1\/1 +Running +0 +\S+ +127\.64\.77\.9 +embedded /m,
    );
    const described = await output(['describe', 'pod', 'real']);
    assert.match(described, /^ {6}\/data from disk \(rw\)$/m);
    assert.match(described, /Started container main$/m);
    assert.match(
      await output(['get', 'events']),
      /Scheduled +pod\/real +Successfully assigned bosh\/real to embedded/,
    );
    assert.match(await output(['get', 'pvc', 'disk']), /^disk +Bound +pvc-/m);
  });

  test('logs, and logs -f until the client ends, show the output', async () => {
    assert.match(await output(['logs', 'real']), /^started\nalive$/m);
    const following = kubectl.start(['logs', '-f', 'real', '--tail=1']);
    const ended = once(following, 'close');
    let seen = '';
    for await (const text of following.stdout.setEncoding('utf8') as AsyncIterable<string>) {
      seen += text;
      if (seen.split('alive\n').length > 3) following.kill();
    }
    await ended;
    assert.match(seen, /^(alive\n){3}/);
  });

  test('exec returns output and exit code, and passes stdin into the volume', async () => {
    await output(['exec', '-i', 'real', '--', 'sh', '-c', 'cat > /data/file'], 'content');
    assert.equal(await output(['exec', 'real', '--', 'cat', '/data/file']), 'content');
    assert.equal((await kubectl.run(['exec', 'real', '--', 'sh', '-c', 'exit 9'])).exitCode, 9);
  });

  test('delete waits for the end of the processes, and the deletion of the claim deletes its volume', async () => {
    assert.match(await output(['delete', 'pod', 'real']), /^pod "real" deleted/);
    assert.match(await output(['delete', 'pvc', 'disk']), /^persistentvolumeclaim "disk" deleted/);
    await output(['wait', '--for=delete', 'pv', '--all', '--timeout=20s']);
    assert.equal(await output(['get', 'pv', '-o', 'name']), '');
  });
});
