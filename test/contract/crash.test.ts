import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../../src/errors/product-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { configMaps } from '../../src/kubernetes/resources.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { configMap } from './contract-objects.ts';

test('a server killed between writes has all acknowledged writes after its restart', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-crash-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const acknowledged = new Map<string, KubernetesObject>();
  const kubeconfigs = new Set<string>();
  for (let life = 0; life < 3; life += 1) {
    const { child, kubeconfig } = await serve(directory);
    t.after(() => child.kill('SIGKILL'));
    kubeconfigs.add(kubeconfig);
    const transport = await openTransport(await loadAccess(kubeconfig));
    const api = new RestApi({ transport });
    for (const [name, object] of acknowledged) {
      assert.deepEqual(await api.get({ resource: configMaps, namespace: 'bosh', name }), object);
    }
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const record = (name: string, object: KubernetesObject): void => {
      acknowledged.set(name, object);
      if (acknowledged.size >= 20 * (life + 1)) resolve();
    };
    const writers = Promise.all([0, 1, 2, 3].map((writer) => write(api, `life-${life}-${writer}`, record)));
    await Promise.race([enough, writers]);
    assert.equal(child.exitCode, null, 'the server ended before it was killed');
    child.kill('SIGKILL');
    await writers;
    transport.close();
  }
  assert.equal(kubeconfigs.size, 1, 'the kubeconfig stays good over restarts');
  const versions = [...acknowledged.values()].map(({ metadata }) => Number(metadata.resourceVersion));
  assert.equal(new Set(versions).size, versions.length);
});

async function serve(directory: string): Promise<{ child: ChildProcess; kubeconfig: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'serve.ts'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(() => assert.fail('the server ended before it was ready'));
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  return { child, kubeconfig: readFileSync(line.toString().trim(), 'utf8') };
}

/** Creates objects one after another until the server ends. */
async function write(
  api: RestApi,
  prefix: string,
  onAcknowledged: (name: string, object: KubernetesObject) => void,
): Promise<void> {
  for (let n = 0; ; n += 1) {
    const name = `${prefix}-${n}`;
    try {
      onAcknowledged(name, await api.create<KubernetesObject>(configMaps, configMap('bosh', name)));
    } catch (error) {
      if (isProductError(error, 'KUBERNETES_UNREACHABLE')) return;
      throw error;
    }
  }
}
