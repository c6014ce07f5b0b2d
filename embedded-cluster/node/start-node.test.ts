import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { nodes, secrets } from '../../src/kubernetes/resources.ts';
import { hostRootImage } from './node-object.ts';
import { describeInNamespace } from './testing/in-namespace.ts';
import { container, idle, nodeWorld, until } from './testing/node-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = nodeWorld();

  test('registers itself as a ready node', async () => {
    const object = await world.api.get<KubernetesObject & { status: { images: { names: string[] }[] } }>({
      resource: nodes,
      name: 'embedded',
    });
    assert.deepEqual(object.status.images[0]?.names, [hostRootImage]);
  });

  test('runs a pod with init containers, volumes and an address, and removes it', async () => {
    await world.api.create(secrets, {
      metadata: { namespace: 'bosh', name: 'settings' },
      data: { 'settings.json': Buffer.from('{"secret":1}').toString('base64') },
    } as KubernetesObject);
    const mounts = [
      { name: 'state', mountPath: '/var/vcap/bosh', subPath: 'bosh' },
      { name: 'settings', mountPath: '/var/vcap/bosh/settings.json', subPath: 'settings.json' },
    ];
    await world.podOf(
      'vm-1',
      {
        hostname: 'agent-1',
        dnsPolicy: 'None',
        dnsConfig: {
          nameservers: ['127.64.201.1'],
          searches: ['x.org'],
          options: [{ name: 'ndots', value: '2' }],
        },
        initContainers: [
          container('echo prepared > /state/bosh/prepared', {
            name: 'prepare',
            volumeMounts: [
              { name: 'state', mountPath: '/state' },
              { name: 'state', mountPath: '/state/bosh', subPath: 'bosh' },
            ],
          }),
        ],
        containers: [
          container('cat /var/vcap/bosh/prepared /var/vcap/bosh/settings.json; hostname; ' + idle, {
            volumeMounts: mounts,
          }),
        ],
        volumes: [
          { name: 'state', emptyDir: {} },
          { name: 'settings', secret: { secretName: 'settings', defaultMode: 0o600 } },
        ],
      },
      { 'bosh.cloudfoundry.org/ip-address': '127.64.201.10' },
    );
    const pod = await world.untilRunning('vm-1');
    assert.equal(pod.status?.podIP, '127.64.201.10');
    assert.equal(pod.status.phase, 'Running');
    assert.equal(pod.status.initContainerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
    await until(async () => ((await world.logsOf('vm-1')).includes('agent-1') ? true : undefined));
    assert.match(await world.logsOf('vm-1'), /^prepared\n\{"secret":1\}agent-1\n$/);
    assert.match((await world.execIn('vm-1', 'cat', '/etc/hosts')).stdout, /127\.64\.201\.10\tagent-1/);
    assert.equal(
      (await world.execIn('vm-1', 'cat', '/etc/resolv.conf')).stdout,
      'search x.org\nnameserver 127.64.201.1\noptions ndots:2\n',
    );
    await world.remove('vm-1');
    await world.untilDeleted('vm-1');
    assert.equal(existsSync(join(world.directory, 'kubelet/pods', pod.metadata.uid ?? '')), false);
    assert.deepEqual(
      (await world.eventsOf('vm-1')).map((event) => event.split(':')[0]),
      ['Pulled', 'Created', 'Started', 'Pulled', 'Created', 'Started', 'Killing'],
    );
  });

  test('reports unsupported features', async () => {
    const outside = world.podOf('outside', {
      containers: [container('true')],
      volumes: [{ name: 'etc', hostPath: { path: '/etc', type: 'Directory' } }],
    });
    await outside;
    await until(async () =>
      (await world.eventsOf('outside')).some((event) => /FailedMount.*\/etc is refused/.test(event))
        ? true
        : undefined,
    );
    await world.podOf('limited', {
      containers: [container('true', { resources: { limits: { memory: '1Gi' } } })],
    });
    const limited = await world.untilPod('limited', (pod) => pod.status?.phase === 'Failed');
    assert.match(limited.status?.message ?? '', /cannot enforce/);
    await Promise.all([world.remove('outside'), world.remove('limited')]);
    await Promise.all([world.untilDeleted('outside'), world.untilDeleted('limited')]);
  });

  test('provides a terminal of the requested size for exec', async () => {
    await world.podOf('terminal', { containers: [container(idle)] });
    await world.untilRunning('terminal');
    const command = [
      '/bin/sh',
      '-c',
      'tty; while [ "$(stty size)" != "40 100" ]; do sleep 0.05; done; stty size; exit 6',
    ];
    const session = await world.node.exec({
      namespace: 'bosh',
      pod: 'terminal',
      container: 'main',
      command,
      stdin: true,
      tty: true,
    });
    let output = '';
    session.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    session.resize(100, 40);
    await until(async () => (output.includes('/dev/pts/') ? true : undefined));
    assert.equal((await session.exited).exitCode, 6);
    assert.match(output, /40 100/);
    await world.remove('terminal');
    await world.untilDeleted('terminal');
  });

  test('runs the same pod again after a restart of the node, with its uid, address and disk volumes', async () => {
    await world.podOf('lasting', {
      containers: [
        container('echo x >> /state/runs; echo y >> /memory/runs; cat /state/runs /memory/runs; ' + idle, {
          volumeMounts: [
            { name: 'state', mountPath: '/state' },
            { name: 'memory', mountPath: '/memory' },
          ],
        }),
      ],
      volumes: [
        { name: 'state', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
      ],
    });
    const before = await world.untilRunning('lasting');
    // The container is running before its shell has written anything.
    await until(async () => ((await world.logsOf('lasting')) === 'x\ny\n' ? true : undefined));
    await world.restart();
    const again = await world.untilPod(
      'lasting',
      (pod) =>
        pod.status?.containerStatuses?.[0]?.restartCount === 1 && pod.status.containerStatuses[0].ready,
    );
    assert.equal(again.metadata.uid, before.metadata.uid);
    assert.equal(again.status?.podIP, before.status?.podIP);
    await until(async () => ((await world.logsOf('lasting')) === 'x\nx\ny\n' ? true : undefined));
    await world.remove('lasting');
    await world.untilDeleted('lasting');
  });
});
