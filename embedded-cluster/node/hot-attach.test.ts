import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildAttachmentPod } from '../../src/cpi/disk/attach/attachment-pod-spec.ts';
import { mountContainer } from '../../src/cpi/objects/layout.ts';
import { bindScript } from '../../src/cpi/disk/attach/scripts/hold.ts';
import { untilReadyIn, releaseScript } from '../../src/cpi/disk/attach/scripts/volume-functions.ts';
import { buildClaim } from '../../src/cpi/disk/disks.ts';
import { parseDiskProperties } from '../../src/cpi/disk/disk-properties.ts';
import { podTemplate } from '../../src/cpi/vm/pod.ts';
import { withOwner } from '../../src/cpi/vm/vms.ts';
import { vmPlan } from '../../src/cpi/testing/planned-pod.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { KubernetesObject, Stored } from '../../src/kubernetes/object.ts';
import { isPodReady, type Pod } from '../../src/kubernetes/types/pod.ts';
import { ignoreNotFound } from '../../src/kubernetes/api.ts';
import { events, persistentVolumeClaims, pods, secrets } from '../../src/kubernetes/resources.ts';
import { type LocalApi, openLocalApi } from '../api-server/local-api.ts';
import { startControllers } from '../controllers/start-controllers.ts';
import { until } from '../../test/support/until.ts';
import { runCommand } from './command.ts';
import type { EmbeddedNode } from './embedded-node.ts';
import { hostRootImage } from './node-object.ts';
import { mountsAtOrBelow, readMountTable } from '../../src/platform/mountinfo.ts';
import { safeRemove } from '../../src/platform/safe-remove.ts';
import { startNode } from './start-node.ts';
import { Field } from '../../src/platform/field.ts';
import { describeInNamespace } from './testing/in-namespace.ts';

// Tests the CPI's own pods on the embedded node, together with the controllers.
describeInNamespace(import.meta.filename, () => {
  const namespace = 'bosh';
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  let directory: string;
  let api: LocalApi;
  let node: EmbeddedNode;
  let controllers: { stop(): Promise<void> };

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-attach-')));
    const runtimeDirectory = join(directory, 'runtime');
    await mkdir(runtimeDirectory);
    await writeFile(join(runtimeDirectory, 'node'), '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
    api = await openLocalApi({ directory });
    node = await startNode({
      ...{ api, directory, runtimeDirectory, clock: systemClock, version: '1.36.0', onError },
    });
    controllers = await startControllers({
      ...{ api, provisioner: node, clock: systemClock, random: Math.random, onError },
    });
  });

  after(async () => {
    await controllers.stop();
    await node.stop(0);
    await api.close();
    for (;;) {
      const [entry] = mountsAtOrBelow(await readMountTable(), directory);
      if (entry === undefined) {
        break;
      }
      assert.equal((await runCommand('umount', ['--lazy', entry.target])).exitCode, 0);
    }
    await safeRemove(directory);
    assert.deepEqual(errors, []);
  });

  const getPod = (name: string): Promise<Stored<Pod>> => api.get<Pod>({ resource: pods, namespace, name });

  async function describePod(name: string): Promise<string> {
    const { items } = await api.list<
      KubernetesObject & { message: string; involvedObject: { name: string } }
    >(events);
    const messages = items
      .filter((event) => event.involvedObject.name === name)
      .map((event) => event.message);
    return JSON.stringify([messages, (await getPod(name)).status], undefined, 1);
  }

  const untilReady = (name: string): Promise<boolean> =>
    until(
      () => describePod(name),
      async () => isPodReady(await getPod(name)),
      20_000,
    );

  const untilDeleted = (name: string): Promise<boolean> =>
    until(
      () => describePod(name),
      async () => (await ignoreNotFound(getPod(name))) === undefined,
      20_000,
    );

  async function exec(
    pod: string,
    container: string,
    ...command: string[]
  ): Promise<{ exitCode: number; stdout: string }> {
    const session = await node.exec({ namespace, pod, container, command, stdin: false, tty: false });
    session.stderr.resume();
    const chunks: Buffer[] = [];
    for await (const chunk of session.stdout) {
      chunks.push(chunk as Buffer);
    }
    return { ...(await session.exited), stdout: Buffer.concat(chunks).toString() };
  }

  async function createVm(cid: string, address: string): Promise<Stored<Pod>> {
    const secret = await api.create(secrets, {
      metadata: { namespace, name: cid },
      data: { 'settings.json': Buffer.from('{}').toString('base64') },
    } as KubernetesObject);
    const plan = vmPlan({
      ...{ cid, agentId: cid.replace('vm-', ''), image: hostRootImage },
      properties: { cpu: '10m', memory: 32, ephemeral_disk: { size: 10 } },
      networking: { labels: {}, annotations: { 'bosh.cloudfoundry.org/ip-address': address } },
    });
    const template = podTemplate({ namespace, directorUuid: undefined }, plan);
    const pod = await api.create<Pod>(pods, withOwner(template, secret));
    await untilReady(cid);
    return pod;
  }

  async function attach(cid: string, vm: Stored<Pod>): Promise<void> {
    await api.create(
      persistentVolumeClaims,
      buildClaim({
        ...{
          cid,
          namespace,
          sizeMiB: 1,
          properties: parseDiskProperties(new Field({}, 'disk', 'INVALID_ARGUMENT')),
        },
        directorUuid: undefined,
      }),
    );
    await api.create<Pod>(
      pods,
      buildAttachmentPod({
        ...{ diskCid: cid, namespace, vm, nodeName: 'embedded', directorUuid: undefined },
        kubeletRootDirectory: join(directory, 'kubelet'),
      }),
    );
    await untilReady(`attach-${cid}`);
    const bound = await inAttachment(cid, vm, [bindScript, 'bind'], '1');
    assert.equal(bound.exitCode, 0);
  }

  async function inAttachment(
    cid: string,
    vm: Stored<Pod>,
    script: [string, string],
    ...more: string[]
  ): Promise<{ exitCode: number; stdout: string }> {
    const pod = await getPod(`attach-${cid}`);
    const uids = [vm.metadata.uid, pod.metadata.uid];
    const command = ['/bin/sh', '-c', untilReadyIn(pod) + script[0], script[1], cid, ...uids, ...more];
    return exec(`attach-${cid}`, mountContainer, ...command);
  }

  const release = (cid: string, vm: Stored<Pod>): Promise<{ exitCode: number; stdout: string }> =>
    inAttachment(cid, vm, [releaseScript, 'release'], '1', '1');

  test('a disk is attached to a running VM, is busy while it is used, and is released afterwards', async () => {
    const vm = await createVm('vm-one', '127.64.3.1');
    await attach('disk-one', await getPod('vm-one'));
    await attach('disk-two', await getPod('vm-one'));
    const store = '/warden-cpi-dev/disks/disk-one/store';
    const mounted = await exec(
      'vm-one',
      'bosh',
      '/bin/sh',
      '-c',
      `mount --bind ${store} /var/vcap/store && echo alive > /var/vcap/store/canary`,
    );
    assert.equal(mounted.exitCode, 0);

    const busy = await release('disk-one', vm);
    assert.equal(busy.exitCode, 16);
    assert.match(busy.stdout, /\/var\/vcap\/store/);

    assert.equal((await exec('vm-one', 'bosh', 'umount', '/var/vcap/store')).exitCode, 0);
    const released = await release('disk-one', vm);
    assert.equal(released.exitCode, 0, released.stdout);
    await api.delete({ resource: pods, namespace, name: 'attach-disk-one' });
    await untilDeleted('attach-disk-one');
    const volume = await volumeOf('disk-one');
    assert.equal(await readFile(join(volume, 'store', 'canary'), 'utf8'), 'alive\n');
    await api.delete({ resource: persistentVolumeClaims, namespace, name: 'disk-one' });
    await until(
      'the removal of the volume of a deleted claim',
      async () => !existsSync(join(volume, 'store', 'canary')),
    );
  });

  test('the attachment pods of a deleted VM end with it, and the disk keeps its content', async () => {
    const begin = performance.now();
    await api.delete({ resource: pods, namespace, name: 'vm-one' });
    await untilDeleted('vm-one');
    assert.ok(performance.now() - begin < 10_000, 'the VM went before its grace was over');
    const volume = await volumeOf('disk-two');
    await api.delete({ resource: pods, namespace, name: 'attach-disk-two' });
    await untilDeleted('attach-disk-two');
    assert.ok(
      (await readFile(join(volume, 'store', '.'), 'utf8').catch((error: { code: string }) => error.code)) ===
        'EISDIR',
    );
  });

  async function volumeOf(claim: string): Promise<string> {
    const object = await api.get<KubernetesObject & { spec: { volumeName: string } }>({
      ...{ resource: persistentVolumeClaims, namespace, name: claim },
    });
    return join(directory, 'volumes', object.spec.volumeName);
  }
});
