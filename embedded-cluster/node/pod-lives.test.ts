import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pods } from '../../src/kubernetes/resources.ts';
import { createVolume } from './testing/create-volume.ts';
import { describeInNamespace } from './testing/in-namespace.ts';
import { container, nodeWorld, until } from './testing/node-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = nodeWorld();

  test('an image that is not the host root is an image pull error', async () => {
    await world.podOf('stranger', { containers: [container('true', { image: 'debian:12' })] });
    await world.untilPod(
      'stranger',
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull',
    );
    assert.ok(
      (await world.eventsOf('stranger')).some((event) => event.includes('Failed to pull image "debian:12"')),
    );
    await world.remove('stranger');
    await world.untilDeleted('stranger');
  });

  test('a container that exits is restarted at once, then with a back-off', async () => {
    await world.podOf('crashing', { containers: [container('echo run; exit 3')] });
    const pod = await world.untilPod(
      'crashing',
      (each) => each.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    const [status] = pod.status?.containerStatuses ?? [];
    assert.equal(status?.restartCount, 1);
    assert.equal(status?.lastState?.terminated?.exitCode, 3);
    assert.equal(pod.status?.phase, 'Running');
    assert.equal(await world.logsOf('crashing'), 'run\n');
    assert.equal(await world.logsOf('crashing', { previous: true }), 'run\n');
    await world.remove('crashing');
    await world.untilDeleted('crashing');
  });

  test('a pod that is never restarted ends as Succeeded or Failed', async () => {
    await world.podOf('good', { restartPolicy: 'Never', containers: [container('true')] });
    await world.podOf('bad', {
      restartPolicy: 'Never',
      containers: [container('echo why > /dev/termination-log; exit 4')],
    });
    await world.untilPod('good', (pod) => pod.status?.phase === 'Succeeded');
    const bad = await world.untilPod('bad', (pod) => pod.status?.phase === 'Failed');
    assert.equal(bad.status?.containerStatuses?.[0]?.state?.terminated?.message, 'why\n');
    await Promise.all([world.remove('good'), world.remove('bad')]);
    await Promise.all([world.untilDeleted('good'), world.untilDeleted('bad')]);
  });

  test('preStop runs before TERM, and KILL follows after the grace period', async () => {
    const volume = await createVolume(world, 'pv-stop');
    await world.podOf('stubborn', {
      terminationGracePeriodSeconds: 1,
      containers: [
        container('trap "echo term >> /v/order" TERM; echo up; while :; do sleep 0.05; done', {
          lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', 'echo hook >> /v/order'] } } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        }),
      ],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim-pv-stop' } }],
    });
    await world.untilRunning('stubborn');
    await until(async () => ((await world.logsOf('stubborn')).includes('up') ? true : undefined));
    await world.remove('stubborn');
    await world.untilDeleted('stubborn');
    assert.equal(await readFile(join(volume, 'order'), 'utf8'), 'hook\nterm\n');
  });

  test('a forced deletion kills at once and leaves no files', async () => {
    const pod = await world.podOf('forced', {
      containers: [container('trap "" TERM; while :; do sleep 0.05; done')],
    });
    await world.untilRunning('forced');
    await world.api.delete({ resource: pods, namespace: 'bosh', name: 'forced' }, { gracePeriodSeconds: 0 });
    await until(async () =>
      existsSync(join(world.directory, 'kubelet/pods', pod.metadata.uid ?? '')) ? undefined : true,
    );
  });
});
