import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ExecResult } from '../../../src/kubernetes/client/exec.ts';
import type { RestApi } from '../../../src/kubernetes/client/rest-api.ts';
import { persistentVolumeClaims, pods } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { leftObjects } from '../../support/left-objects.ts';
import { runWell } from '../../support/run.ts';
import { until } from '../../support/until.ts';
import { dnsNameOf } from './dns-blob.ts';
import type { DirectorSetup } from './director-setup.ts';
import type { ReleaseOfJob } from './release-of-job.ts';
import type { InstanceGroup, ScriptedDeployment, ScriptedInstance } from './scripted-deployment.ts';

/** A director with its cluster, before the first deployment. */
export interface Scene {
  readonly setup: DirectorSetup;
  readonly deployment: ScriptedDeployment;
  readonly hello: ReleaseOfJob;
  readonly smoke: ReleaseOfJob;
  /** Three for hello and one for the errand. */
  readonly addresses: readonly [string, string, string, string];
  readonly api: RestApi;
  readonly namespace: string;
  /** False: the VMs of the cluster have none. */
  readonly hasSshd: boolean;
  /** Runs a shell command in a VM. */
  readonly exec: (vmCid: string, script: string) => Promise<ExecResult>;
  close(): Promise<void>;
}

/** Registers a test for each step of the scenario, which run one after the other in one deployment. */
export function describeScenario(name: string, open: () => Promise<Scene>, skip: string | false): void {
  describe(name, { concurrency: 1, skip, timeout: 1_800_000 }, () => {
    let scene: Scene | undefined;
    before(async () => {
      scene = await open();
    });
    after(() => scene?.close());
    for (const [step, run] of steps)
      test(step, { timeout: 600_000 }, async () => {
        assert.ok(scene !== undefined);
        await run(scene);
        await scene.setup.assertPermitted();
      });
  });
}

type Step = (scene: Scene) => Promise<void>;

const steps: readonly (readonly [name: string, run: Step])[] = [
  ['deploy: two groups, whose packages a compilation VM has compiled', deploys],
  [
    'names: each VM resolves the others by /etc/hosts, also after its reboot, and has records.json',
    resolvesNames,
  ],
  ['run-errand: the output, the exit code and the logs', runsErrand],
  ['ssh: an account that becomes root, and its end', entersBySsh],
  ['logs: the archive of one instance', fetchesLogs],
  ['deploy with a larger disk: the content moves', enlargesDisks],
  ['deploy with more instances, then with fewer', scales],
  ['recreate: another VM with the same disk', recreates],
  ['stop, start: the VM stays', stopsAndStarts],
  ['a VM whose pod is deleted by hand sends no heartbeats, and is made again with its disk', resurrects],
  ['delete-deployment: nothing is left', deletes],
];

/** Returns the two instance groups: a service and an errand. */
function manifest(
  { hello, smoke, addresses }: Scene,
  { instances = 2, diskSize = 64 }: { readonly instances?: number; readonly diskSize?: number } = {},
): readonly [hello: InstanceGroup, smoke: InstanceGroup] {
  const properties = { hello: { port: 8080, audience: 'operators' } };
  return [
    {
      ...{ name: 'hello', lifecycle: 'service', release: hello, properties, diskSize },
      addresses: addresses.slice(0, instances),
    },
    {
      ...{ name: 'smoke', lifecycle: 'errand', release: smoke, addresses: addresses.slice(3) },
      properties: { smoke: { address: addresses[0], text: 'For operators' } },
    },
  ];
}

async function deploys(scene: Scene): Promise<void> {
  const { deployment, setup, api, namespace } = scene;
  await deployment.deploy(manifest(scene));

  const { items } = await api.list(pods, { namespace, labelSelector: 'bosh.cloudfoundry.org/kind=vm' });
  const vms = items.map(({ metadata }) => metadata.name).toSorted();
  assert.deepEqual(vms, deployment.instances.map(({ vm }) => vm.cid).toSorted());
  const pages = await Promise.all(deployment.instances.map(pageOf));
  for (const page of pages) assert.match(page, /^Hello from BOSH on Kubernetes[^]*For operators, kept on a/u);
  for (const { vm } of deployment.instances) await setup.monitor.hear(vm.agentId);
}

async function resolvesNames(scene: Scene): Promise<void> {
  const { deployment, exec } = scene;
  const path = '/var/vcap/instance/dns/records.json';
  const assertNames = async (): Promise<void> => {
    for (const { vm } of deployment.instances) {
      for (const other of deployment.instances) {
        const name = dnsNameOf(other.vm);
        const { stdout } = await exec(vm.cid, `getent hosts ${name}`);
        assert.deepEqual(stdout.trim().split(/\s+/u), [other.vm.request.address, name]);
      }
      const { stdout: records } = await exec(vm.cid, `stat -c '%a %U:%G' ${path} && cat ${path}`);
      assert.equal(records, `640 root:vcap\n${deployment.dnsBlob.toString()}`);
    }
  };
  await assertNames();
  await deployment.reboot(first(scene));
  await assertNames();
}

async function runsErrand(scene: Scene): Promise<void> {
  const [, smoke] = manifest(scene);
  const { exitCode, stdout, stderr, logs } = await scene.deployment.runErrand(smoke);
  assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
  assert.ok(stdout.includes(await pageOf(first(scene))), stdout);
  assert.match(await contentOf(logs), /smoke\/smoke\.log/u);
}

async function entersBySsh({ deployment, hasSshd }: Scene): Promise<void> {
  const [instance] = deployment.instances;
  assert.ok(instance !== undefined);
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-ssh-'));
  try {
    const [key, knownHosts] = [join(directory, 'key'), join(directory, 'known_hosts')];
    await runWell(['ssh-keygen', '-q', '-t', 'rsa', '-b', '2048', '-N', '', '-f', key]);
    const publicKey = await runWell(['ssh-keygen', '-y', '-f', key]);
    const user = 'bosh_0123456789abcde';
    if (!hasSshd) {
      await assert.rejects(deployment.ssh(instance, user, publicKey), /this VM runs no sshd/u);
      return;
    }
    const { address, hostKey } = await deployment.ssh(instance, user, publicKey);
    await writeFile(knownHosts, `${address} ${hostKey}\n`);
    const options = ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${knownHosts}`, 'IdentitiesOnly=yes'];
    const flags = [...options, 'BatchMode=yes'].flatMap((option) => ['-o', option]);
    const login = ['ssh', ...flags, '-i', key, `${user}@${address}`];
    assert.equal(await runWell([...login, 'sudo -n id -un']), 'root\n');
    const health = [...login, 'cat /var/vcap/instance/health.json'];
    await until('health.json', async () => (await runWell(health)) === '{"state":"running"}');
    await deployment.endSsh(instance, user);
    await assert.rejects(runWell([...login, 'true']), /Permission denied/u);
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function fetchesLogs(scene: Scene): Promise<void> {
  const archive = await scene.deployment.logs(first(scene));
  assert.match(await contentOf(archive), /hello\/hello\.stdout\.log/u);
}

async function enlargesDisks(scene: Scene): Promise<void> {
  const { deployment, api, namespace } = scene;
  const previous = await statesOf(deployment.instances);
  await deployment.deploy(manifest(scene, { diskSize: 128 }));
  const now = await statesOf(deployment.instances);
  for (const [index, { disk, ...others }] of now.entries()) {
    const { disk: smaller, ...same } = previous[index] ?? {};
    assert.deepEqual(others, same);
    assert.notEqual(disk, smaller);
    const reference = { resource: persistentVolumeClaims, namespace, name: disk ?? '' };
    const { spec } = await api.get<PersistentVolumeClaim>(reference);
    assert.equal(spec.resources?.requests?.['storage'], '128Mi');
  }
}

async function scales(scene: Scene): Promise<void> {
  const { deployment, addresses, exec } = scene;
  const previous = await statesOf(deployment.instances);
  await deployment.deploy(manifest(scene, { diskSize: 128, instances: 3 }));
  const { vm } = first(scene);
  const [, , added] = deployment.instances;
  assert.ok(added !== undefined);
  assert.match(await pageOf(added), /For operators/u);
  const resolve = `getent hosts ${dnsNameOf(added.vm)}`;
  assert.match((await exec(vm.cid, resolve)).stdout, new RegExp(`^${addresses[2]} `, 'u'));

  await deployment.deploy(manifest(scene, { diskSize: 128 }));
  assert.notEqual((await exec(vm.cid, resolve)).exitCode, 0);
  assert.deepEqual(await statesOf(deployment.instances), previous);
  await assert.rejects(fetch(`http://${addresses[2]}:8080/`, { signal: AbortSignal.timeout(3000) }));
}

async function recreates(scene: Scene): Promise<void> {
  const instance = first(scene);
  await keepsDisk(instance, () => scene.deployment.recreate(instance));
}

async function stopsAndStarts({ deployment }: Scene): Promise<void> {
  const [, instance] = deployment.instances;
  assert.ok(instance !== undefined);
  const previous = await statesOf([instance]);
  await deployment.stop(instance);
  await assert.rejects(pageOf(instance), /fetch failed/u);
  assert.equal(await deployment.jobState(instance), 'stopped');
  await deployment.start(instance);
  assert.deepEqual(await statesOf([instance]), previous);
}

async function resurrects({ deployment, setup, api, namespace }: Scene): Promise<void> {
  const [other, instance] = deployment.instances;
  assert.ok(other !== undefined && instance !== undefined);
  const { agentId, cid } = instance.vm;
  await keepsDisk(instance, async () => {
    const reference = { resource: pods, namespace, name: cid };
    await api.delete(reference);
    await until('the pod to be deleted', async () => {
      try {
        await api.get(reference);
        return false;
      } catch (error) {
        if (!isApiError(error, 404)) throw error;
        return true;
      }
    });
    await setup.monitor.hearOnly(other.vm.agentId, agentId);
    assert.equal(await deployment.hasVm(instance), false);
    await deployment.resurrect(instance);
  });
  await setup.monitor.hear(instance.vm.agentId);
}

async function deletes({ deployment, api, namespace }: Scene): Promise<void> {
  await deployment.delete();
  await deployment.deleteStemcell();
  await until('all objects to be deleted', async () => (await leftObjects(api, namespace)).length === 0);
}

/** Asserts that a change gives the instance another VM, and that its disk keeps its content. */
async function keepsDisk(instance: ScriptedInstance, change: () => Promise<void>): Promise<void> {
  const [previous] = await statesOf([instance]);
  await change();
  const [now] = await statesOf([instance]);
  assert.notEqual(now?.vm, previous?.vm);
  assert.deepEqual({ ...now, vm: previous?.vm }, previous);
}

interface State {
  readonly vm: string;
  readonly id: string;
  readonly disk: string | undefined;
  readonly page: string;
}

/** Returns what must stay the same. The page says since when the disk has had its content. */
function statesOf(instances: readonly ScriptedInstance[]): Promise<readonly State[]> {
  return Promise.all(
    instances.map(async (instance) => {
      const { cid: vm, id, disk } = instance.vm;
      return { vm, id, disk: disk?.cid, page: await pageOf(instance) };
    }),
  );
}

function first({ deployment }: Scene): ScriptedInstance {
  const [instance] = deployment.instances;
  assert.ok(instance !== undefined);
  return instance;
}

async function pageOf({ vm }: ScriptedInstance): Promise<string> {
  const response = await fetch(`http://${vm.request.address}:8080/`);
  assert.equal(response.status, 200);
  return response.text();
}

/** Returns the names in an archive of logs. */
async function contentOf(archive: Buffer): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-logs-'));
  try {
    const path = join(directory, 'logs.tgz');
    await writeFile(path, archive);
    return await runWell(['tar', '-tzf', path]);
  } finally {
    await rm(directory, { recursive: true });
  }
}
