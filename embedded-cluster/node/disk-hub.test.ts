import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { createVolume } from './testing/create-volume.ts';
import { describeInNamespace } from './testing/in-namespace.ts';
import { container, nodeWorld, until, type NodeWorld } from './testing/node-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = nodeWorld();

  test('a disk in the hub is visible to the VM and to its next container, the pod waits for its release, and no data is lost', async () => {
    const volume = await createVolume(world, 'pv-hub');
    await writeFile(join(volume, 'canary'), 'alive');
    const vm = await hubVm(world, 'vm-hub');
    await world.untilRunning('vm-hub');
    await attachment(world, 'attach', vm, 'pv-hub');
    await world.untilRunning('attach');
    await until(async () =>
      (await world.execIn('vm-hub', 'cat', '/hub/disks/d/canary')).stdout === 'alive' ? true : undefined,
    );
    await assert.rejects(world.node.remove('pv-hub'), { code: 'VOLUME_BUSY' });

    await world.execIn('vm-hub', '/bin/sh', '-c', 'kill -TERM 1');
    await world.untilPod('vm-hub', (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
    await world.untilRunning('vm-hub');
    assert.equal((await world.execIn('vm-hub', 'cat', '/hub/disks/d/canary')).stdout, 'alive');

    await world.remove('vm-hub');
    await until(async () =>
      (await world.eventsOf('vm-hub')).some((event) => /FailedUnmount.*busy/.test(event)) ? true : undefined,
    );
    assert.equal(await readFile(join(volume, 'canary'), 'utf8'), 'alive');
    await world.remove('attach');
    await world.untilDeleted('attach');
    await world.untilDeleted('vm-hub');
    assert.equal(await readFile(join(volume, 'canary'), 'utf8'), 'alive');
    await world.node.remove('pv-hub');
    assert.equal(existsSync(volume), false);
  });

  test('an attachment pod waits for a missing hub', async () => {
    await createVolume(world, 'pv-early');
    await attachment(
      world,
      'early',
      { metadata: { name: 'vm', namespace: 'n', uid: randomUUID() }, spec: { containers: [] } },
      'pv-early',
    );
    await until(async () =>
      (await world.eventsOf('early')).some((event) => /FailedMount.*hostPath type check failed/.test(event))
        ? true
        : undefined,
    );
    await world.remove('early');
    await world.untilDeleted('early');
  });
});

/** Creates a VM's pod with a hub, as the CPI does. */
function hubVm(world: NodeWorld, name: string): Promise<Pod> {
  return world.podOf(name, {
    initContainers: [
      container('mkdir -p /hub/disks', {
        name: 'prepare',
        volumeMounts: [{ name: 'hub', mountPath: '/hub' }],
      }),
    ],
    containers: [
      container('trap "exit 0" TERM; while :; do sleep 0.05; done', {
        securityContext: { privileged: true },
        volumeMounts: [{ name: 'hub', mountPath: '/hub', mountPropagation: 'HostToContainer' }],
      }),
    ],
    volumes: [{ name: 'hub', emptyDir: { medium: 'Memory' } }],
  });
}

/** Creates a pod that binds a volume into the hub of a VM. */
function attachment(world: NodeWorld, name: string, vm: Pod, volume: string): Promise<Pod> {
  const path = join(
    world.directory,
    'kubelet/pods',
    vm.metadata.uid ?? '',
    'volumes/kubernetes.io~empty-dir/hub/disks',
  );
  return world.podOf(name, {
    hostNetwork: true,
    hostPID: true,
    containers: [
      container(
        'mkdir -p /hub/d && mount --bind /volume /hub/d && trap "umount /hub/d && exit 0" TERM; while :; do sleep 0.05; done',
        {
          securityContext: { privileged: true },
          volumeMounts: [
            { name: 'hub', mountPath: '/hub', mountPropagation: 'Bidirectional' },
            { name: 'volume', mountPath: '/volume' },
          ],
        },
      ),
    ],
    volumes: [
      { name: 'hub', hostPath: { path, type: 'Directory' } },
      { name: 'volume', persistentVolumeClaim: { claimName: `claim-${volume}` } },
    ],
  });
}
