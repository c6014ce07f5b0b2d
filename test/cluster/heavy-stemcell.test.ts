import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createStemcell } from '../../src/cpi/stemcell/create-stemcell.ts';
import { parseStemcellCid } from '../../src/cpi/stemcell/stemcell-cid.ts';
import { deleteStemcell } from '../../src/cpi/stemcell/delete-stemcell.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { secrets } from '../../src/kubernetes/resources.ts';
import { deleteManifest } from '../../src/oci/registry/manifests.ts';
import { openRegistry } from '../../src/oci/registry/open-registry.ts';
import type { RegistryClient } from '../../src/oci/registry/registry-client.ts';
import {
  type DockerRegistry,
  dockerRegistryIsMissing,
  startDockerRegistry,
} from '../../src/oci/registry/testing/docker-registry.ts';
import { checkout } from '../support/embedded-environment.ts';
import { until } from '../support/until.ts';
import { runWell } from '../support/run.ts';
import { network } from './network.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { forgetRegistry, nameRegistry, pulledFrom } from './support/node-registry.ts';
import { withoutNodes } from './test-cluster.ts';
import { Field } from '../../src/platform/field.ts';

/** The name of the registry on nodes. The CPI uses its address. */
const pullHost = 'registry.bosh-kubernetes.test:5000';
const repository = 'bosh/stemcells';

const missing = dockerRegistryIsMissing();

describeCluster('a heavy stemcell', (world) => {
  test(
    'create_stemcell pushes it, a kubelet pulls it for create_vm, pre-pull brings it to every node, delete_stemcell deletes it',
    { ...withoutNodes, ...(missing !== false && { skip: missing }), timeout: 900_000 },
    async (t) => {
      const { cluster } = world();
      const registry = await startDockerRegistry(t, {
        ...{ authentication: 'basic', deletes: true, address: network.controlPlane },
      });
      for (const node of cluster.nodes) {
        await nameRegistry(node, pullHost, registry);
        t.after(() => forgetRegistry(node, pullHost));
      }
      const pullSecret = await newPullSecret(world(), registry);
      const cloud = world().cloudWith(
        { image_pull_secrets: [pullSecret] },
        { registry: sectionOf(registry) },
      );
      const [image, properties] = await unpacked(t, await cluster.heavyStockStemcell('systemd'));
      const stemcell = await createStemcell(cloud, {
        imagePath: image,
        cloudProperties: properties,
        env: {},
      });
      const { image: pulled } = parseStemcellCid(new Field(stemcell, 'the cid', 'INVALID_ARGUMENT'));
      assert.ok(pulled.startsWith(`${pullHost}/${repository}@sha256:`), stemcell);
      assert.deepEqual(await Promise.all(cluster.nodes.map((node) => pulledFrom(node, pullHost))), [[], []]);

      const vm = await world().newVm({ cloud, image: stemcell });
      await world().untilInVm(vm, 'test "$(cat /proc/1/comm)" = systemd');
      const first = await world().nodeOf(vm);
      assert.ok((await pulledFrom(first, pullHost)).includes(pulled));
      assert.deepEqual(await pulledFrom(await theOther(world(), first.name), pullHost), []);

      const manifest = join(await scratch(t), 'pre-pull.yml');
      await writeFile(manifest, await prePull(world().namespace, stemcell, pullSecret));
      await world().kubectl('apply', '--filename', manifest);
      // The second VM first pulls and unpacks a whole system.
      await until(
        'a pod of the DaemonSet to run on both nodes',
        async () => {
          const wanted = ['get', 'daemonsets', '-o', 'jsonpath={.items[*].status.numberReady}'];
          return (await world().kubectl(...wanted)) === String(cluster.nodes.length);
        },
        600_000,
      );
      for (const node of cluster.nodes) assert.ok((await pulledFrom(node, pullHost)).includes(pulled));
      await world().kubectl('delete', '--filename', manifest, '--wait');

      await deleteVm(cloud, { vmCid: vm });
      await deleteStemcell(cloud, { stemcellCid: stemcell });
      assert.equal(await deleteManifest(clientOf(t, registry), pulled.split('@')[1] ?? ''), 'absent');
    },
  );
});

async function theOther({ cluster }: ClusterWorld, name: string) {
  const other = cluster.nodes.find((node) => node.name !== name);
  assert.ok(other !== undefined, 'the cluster has one node');
  return other;
}

const sectionOf = ({ origin, ca, credentials }: DockerRegistry): Record<string, unknown> => ({
  ...{ url: origin, repository, ca, pull_host: pullHost },
  ...credentials,
});

/** Creates the Secret with the kubelets' login. */
async function newPullSecret(
  { api, namespace }: ClusterWorld,
  { credentials }: DockerRegistry,
): Promise<string> {
  const auths = { [pullHost]: { auth: basic(credentials) } };
  await api.create(secrets, {
    metadata: { name: 'registry', namespace },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
  });
  return 'registry';
}

const basic = ({ username, password }: DockerRegistry['credentials']): string =>
  Buffer.from(`${username}:${password}`).toString('base64');

/** Unpacks the archive like the bosh CLI and a director: image and stemcell.MF in one directory. */
async function unpacked(
  t: TestContext,
  archive: string,
): Promise<readonly [string, Record<string, unknown>]> {
  const directory = await scratch(t);
  await runWell(['tar', '--extract', '--file', archive, '--directory', directory]);
  return [join(directory, 'image'), { name: 'look-alike', version: '1', infrastructure: 'warden' }];
}

function prePull(namespace: string, image: string, pullSecret: string): Promise<string> {
  const program = join(checkout, 'bin', 'bosh-kubernetes.mjs');
  const args = ['stemcell', 'pre-pull', image, '--namespace', namespace, '--image-pull-secret', pullSecret];
  return runWell([process.execPath, program, ...args]);
}

function clientOf(t: TestContext, { origin, ca, credentials }: DockerRegistry): RegistryClient {
  const client = openRegistry({ origin, ca, credentials, repository, clock: systemClock });
  t.after(() => client.close());
  return client;
}

async function scratch(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-heavy-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}
