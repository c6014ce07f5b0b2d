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

const limit = { timeout: 60_000 };

test('a server killed with -9 between writes comes back with all that it answered', limit, async (t) => {
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
    const writers = [0, 1, 2, 3].map((writer) => write(api, `life-${life}-${writer}`, acknowledged));
    while (acknowledged.size < 40 * (life + 1)) await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGKILL');
    await Promise.all(writers);
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
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, kubeconfig: readFileSync(line.toString().trim(), 'utf8') };
}

/** Creates objects one after another until the server ends. */
async function write(
  api: RestApi,
  prefix: string,
  acknowledged: Map<string, KubernetesObject>,
): Promise<void> {
  for (let n = 0; ; n += 1) {
    const name = `${prefix}-${n}`;
    try {
      acknowledged.set(name, await api.create<KubernetesObject>(configMaps, configMap('bosh', name)));
    } catch (error) {
      if (isProductError(error, 'KUBERNETES_UNREACHABLE')) return;
      throw error;
    }
  }
}
