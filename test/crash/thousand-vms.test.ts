import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inParallel } from '../../bench/scale/in-parallel.ts';
import { startScaleServer, type ScaleServer } from '../../bench/scale/scale-server.ts';
import { settingsKey } from '../../src/cpi/objects/layout.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { namespaces, pods, secrets } from '../../src/kubernetes/resources.ts';
import { applyRoles, tokenKubeconfig, tokenOf } from '../conformance/roles.ts';
import { call } from '../cpi/artefact.ts';
import { startApiProxy, type ApiProxy, type Fate } from '../support/api-proxy.ts';
import { checkout } from '../support/embedded-environment.ts';
import { until } from '../support/until.ts';

const cpi = join(checkout, 'dist', 'cpi', 'cpi');
const count = Number(process.env['BOSH_KUBERNETES_VMS'] ?? 200);
const workers = 32;
const namespace = 'thousand';
const image = 'embedded.bosh-kubernetes/host-root:1';
/** One in this many requests is rejected or lost. */
const rarity = 15;
const busy: Fate = {
  ...{ kind: 'answer', status: 429, headers: { 'retry-after': '0' } },
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 429, message: 'busy' }),
};
const harms: readonly Fate[] = [busy, { kind: 'lost' }, busy, { kind: 'unheard' }];

/**
 * 32 CPI processes at once on simulated nodes, with an API server that sometimes rejects requests and loses
 * connections.
 */
describe('many VMs at once', () => {
  let directory: string;
  let server: ScaleServer;
  let api: RestApi;
  let proxy: ApiProxy;
  let config: string;
  let harmed = 0;
  let repeated = 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-thousand-'));
    server = await startScaleServer(10);
    const access = await loadAccess(server.kubeconfig);
    api = await openApi(access);
    proxy = await startApiProxy({
      access,
      decide: ({ number, url }) => {
        if (number % rarity !== 0 || url.includes('watch=')) return { kind: 'pass' };
        harmed += 1;
        return harms[harmed % harms.length] ?? busy;
      },
    });
    config = join(directory, 'cpi.json');
    await api.create(namespaces, { metadata: { name: namespace } });
    await applyRoles(api, { namespace });
    const token = await tokenOf(access, namespace);
    const kubeconfig = tokenKubeconfig({ ...access, server: proxy.server, ca: proxy.ca }, token);
    const kubernetes = { kubeconfig, namespace };
    const agent = { mbus: 'https://mbus:secret@0.0.0.0:6868' };
    await writeFile(config, JSON.stringify({ kubernetes, agent }), { mode: 0o600 });
  });
  after(async () => {
    await proxy.close();
    api.close();
    await server.close();
    await rm(directory, { recursive: true });
  });

  test(`32 calls at once make each of ${count} VMs once, and leave nothing of them`, async (t) => {
    const agents = Array.from({ length: count }, () => randomUUID());
    const cids: string[] = [];
    const creation = await inParallel(agents, workers, async (agent, index) => {
      const properties = { zone: `z${(index % 3) + 1}`, cpu: 1, memory: 1024 };
      const networks = { default: { type: 'dynamic', cloud_properties: {} } };
      const env = { bosh: { group: `group-${index % 20}` } };
      const [cid] = (await verb('create_vm', [agent, image, properties, networks, [], env])) as [string];
      cids[index] = cid;
    });

    const vms = await listed<Pod>(pods);
    assert.equal(new Set(cids).size, count);
    assert.deepEqual(vms.map(nameOf).toSorted(), cids.toSorted());
    const expected = Object.fromEntries(agents.map((agent, index) => [cids[index], agent]));
    assert.deepEqual(Object.fromEntries(await agentIds()), expected);
    const addresses = vms.map(({ status }) => status?.podIP ?? assert.fail('a VM without an address'));
    assert.equal(new Set(addresses).size, count);

    const deletion = await inParallel(cids, workers, async (cid) => void (await verb('delete_vm', [cid])));
    for (const resource of [pods, secrets]) assert.deepEqual((await listed(resource)).map(nameOf), []);
    assert.ok(harmed > count / 2, `${harmed} requests were harmed`);
    const seconds = (ms: number): string => (ms / 1000).toFixed(0);
    t.diagnostic(
      `${harmed} of ${proxy.requests.length} requests refused or lost, ${repeated} calls repeated; ` +
        `a CPI process for each call, ${seconds(creation.wall)} s to create, ${seconds(deletion.wall)} s to delete`,
    );
  });

  test('three thousand pods run in little memory', async (t) => {
    const many = { name: 'many', pods: 3000, maxMiB: 250 };
    await api.create(namespaces, { metadata: { name: many.name } });
    const memoryWithoutPods = await server.memory();
    const names = Array.from({ length: many.pods }, (_, index) => `pod-${index}`);
    await inParallel(names, workers, async (name, index) => {
      const containers = [{ name: 'main', image }];
      const nodeName = `sim-${(index % 10) + 1}`;
      const spec = { nodeName, automountServiceAccountToken: false, containers };
      await api.create(pods, { metadata: { namespace: many.name, name }, spec });
    });
    await until('all pods run', async () => {
      const query = { namespace: many.name, fieldSelector: 'status.phase=Running' };
      return (await api.list(pods, query)).items.length === many.pods;
    });
    const grown = (await server.memory()) - memoryWithoutPods;
    assert.ok(grown < many.maxMiB, `${many.pods} pods take ${grown} MiB`);
    t.diagnostic(`${many.pods} pods take ${grown} MiB`);
  });

  /**
   * Makes the call. Repeats it if the API server's fault reached the caller, as an operator would by another
   * deploy.
   */
  async function verb(method: string, args: readonly unknown[]): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      const request = { method, arguments: args, context: { director_uuid: 'director-1' }, api_version: 2 };
      const { result, error } = await call({ name: 'executable', command: [cpi] }, request, { config });
      if (error === null) return result;
      assert.ok(tries < 8, `${method}: ${error.type}: ${error.message}`);
      repeated += 1;
    }
  }

  async function listed<T extends KubernetesObject>(resource: typeof pods): Promise<T[]> {
    const query = { namespace, labelSelector: 'bosh.cloudfoundry.org/kind' };
    return (await api.list<T>(resource, query)).items;
  }

  /** Returns the agent ids from the settings that the agents will read, with the names of their Secrets. */
  async function agentIds(): Promise<[string, string][]> {
    const items = await listed<KubernetesObject & { data: Record<string, string> }>(secrets);
    return items.map((secret) => {
      const settings = Buffer.from(secret.data[settingsKey] ?? '', 'base64').toString('utf8');
      return [nameOf(secret), (JSON.parse(settings) as { agent_id: string }).agent_id];
    });
  }
});

const nameOf = ({ metadata }: KubernetesObject): string => metadata.name;
