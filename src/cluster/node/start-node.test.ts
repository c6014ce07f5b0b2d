import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../kubernetes/clock.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Container, Pod, PodSpec } from '../../kubernetes/pod.ts';
import {
  events,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
} from '../../kubernetes/resources.ts';
import { runCommand } from './command.ts';
import type { EmbeddedNode } from './embedded-node.ts';
import { openLocalApi } from '../api/open-local-api.ts';
import type { LocalApi } from '../api/local-api.ts';
import { hostRootImage } from './image/host-root-image.ts';
import { mountsAtOrBelow, readMountTable } from './mounts/mount-table.ts';
import { safeRemove } from './removal/safe-remove.ts';
import { startNode } from './start-node.ts';
import { describeInNamespace } from './testing/in-namespace.ts';

describeInNamespace(import.meta.filename, () => {
  let api: LocalApi;
  const errors: unknown[] = [];
  let directory: string;
  let node: EmbeddedNode;

  const start = (): Promise<EmbeddedNode> =>
    startNode({
      ...{
        api,
        directory,
        runtimeDirectory: join(directory, 'runtime'),
        clock: systemClock,
        version: '1.36.0',
      },
      onError: (error) => errors.push(error),
    });

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes node ')));
    await mkdir(join(directory, 'runtime'));
    api = await openLocalApi({ directory });
    node = await start();
  });

  after(async () => {
    await node.stop(0);
    await unmountNode(directory);
    await safeRemove(directory);
    assert.deepEqual(errors, []);
  });

  /** First processes ignore signals for which they have no handler. */
  const idle = 'trap "exit 0" TERM; sleep 1000 & wait';

  const container = (script: string, changes: Partial<Container> = {}): Container => ({
    name: 'main',
    image: hostRootImage,
    command: ['/bin/sh', '-c', script],
    ...changes,
  });

  function podOf(
    name: string,
    spec: Partial<PodSpec> & { containers: Container[] },
    annotations = {},
  ): Promise<Pod> {
    return api.create<Pod>(pods, {
      metadata: { namespace: 'bosh', name, annotations },
      spec: { nodeName: 'embedded', restartPolicy: 'Always', terminationGracePeriodSeconds: 5, ...spec },
    });
  }

  const getPod = (name: string): Promise<Pod> => api.get<Pod>({ resource: pods, namespace: 'bosh', name });

  async function untilPod(name: string, holds: (pod: Pod) => boolean): Promise<Pod> {
    return until(
      async () => {
        const pod = await getPod(name);
        return holds(pod) ? pod : undefined;
      },
      async () => JSON.stringify([(await getPod(name)).status, await eventsOf(name)], undefined, 1),
    );
  }

  const untilRunning = (name: string): Promise<Pod> =>
    untilPod(
      name,
      (pod) =>
        pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true,
    );

  const untilGone = (name: string): Promise<boolean> =>
    until(
      async () =>
        getPod(name).then(
          () => undefined,
          () => true,
        ),
      async () => JSON.stringify([await getPod(name), await eventsOf(name)], undefined, 1),
    );

  const remove = (name: string): Promise<void> => api.delete({ resource: pods, namespace: 'bosh', name });

  async function eventsOf(name: string): Promise<string[]> {
    const { items } = await api.list<
      KubernetesObject & { reason: string; message: string; involvedObject: { name: string } }
    >(events);
    return items
      .filter((event) => event.involvedObject.name === name)
      .map((event) => `${event.reason}: ${event.message}`);
  }

  async function logsOf(
    pod: string,
    changes: { previous?: boolean; container?: string } = {},
  ): Promise<string> {
    const request = {
      namespace: 'bosh',
      pod,
      container: 'main',
      follow: false,
      previous: false,
      timestamps: false,
    };
    const chunks: Uint8Array[] = [];
    for await (const chunk of node.logs({ ...request, ...changes, signal: new AbortController().signal })) {
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  }

  async function execIn(pod: string, ...command: string[]): Promise<{ exitCode: number; stdout: string }> {
    const session = await node.exec({
      namespace: 'bosh',
      pod,
      container: 'main',
      command,
      stdin: false,
      tty: false,
    });
    session.stderr.resume();
    const chunks: Buffer[] = [];
    for await (const chunk of session.stdout) {
      chunks.push(chunk as Buffer);
    }
    return { ...(await session.exited), stdout: Buffer.concat(chunks).toString() };
  }

  async function createVolume(name: string): Promise<string> {
    const path = await node.provision(name);
    const accessModes = ['ReadWriteOnce'];
    const claim = await api.create(persistentVolumeClaims, {
      metadata: { namespace: 'bosh', name: `claim-${name}` },
      spec: {
        accessModes,
        resources: { requests: { storage: '1Mi' } },
        volumeName: name,
        storageClassName: '',
      },
    } as KubernetesObject);
    await api.replace(
      persistentVolumeClaims,
      { ...claim, status: { phase: 'Bound' } } as KubernetesObject,
      'status',
    );
    const { uid, resourceVersion } = claim.metadata;
    await api.create(persistentVolumes, {
      metadata: { name },
      spec: {
        ...{
          accessModes,
          capacity: { storage: '1Mi' },
          local: { path },
          persistentVolumeReclaimPolicy: 'Retain',
        },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['embedded'] }] },
            ],
          },
        },
        claimRef: {
          kind: 'PersistentVolumeClaim',
          namespace: 'bosh',
          name: `claim-${name}`,
          uid,
          resourceVersion,
        },
      },
    } as KubernetesObject);
    return path;
  }

  const hubVm = (name: string): Promise<Pod> =>
    podOf(name, {
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

  function attachment(name: string, vm: Pod, volume: string): Promise<Pod> {
    const path = join(
      directory,
      'kubelet/pods',
      vm.metadata.uid ?? '',
      'volumes/kubernetes.io~empty-dir/hub/disks',
    );
    return podOf(name, {
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

  test('registers itself as a ready node', async () => {
    const object = await api.get<KubernetesObject & { status: { images: { names: string[] }[] } }>({
      resource: nodes,
      name: 'embedded',
    });
    assert.deepEqual(object.status.images[0]?.names, [hostRootImage]);
  });

  test('runs a pod with init containers, volumes and an address, and lets it go', async () => {
    await api.create(secrets, {
      metadata: { namespace: 'bosh', name: 'settings' },
      data: { 'settings.json': Buffer.from('{"secret":1}').toString('base64') },
    } as KubernetesObject);
    const mounts = [
      { name: 'state', mountPath: '/var/vcap/bosh', subPath: 'bosh' },
      { name: 'settings', mountPath: '/var/vcap/bosh/settings.json', subPath: 'settings.json' },
    ];
    await podOf(
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
    const pod = await untilRunning('vm-1');
    assert.equal(pod.status?.podIP, '127.64.201.10');
    assert.equal(pod.status.phase, 'Running');
    assert.equal(pod.status.initContainerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
    await until(async () => ((await logsOf('vm-1')).includes('agent-1') ? true : undefined));
    assert.match(await logsOf('vm-1'), /^prepared\n\{"secret":1\}agent-1\n$/);
    assert.match((await execIn('vm-1', 'cat', '/etc/hosts')).stdout, /127\.64\.201\.10\tagent-1/);
    assert.equal(
      (await execIn('vm-1', 'cat', '/etc/resolv.conf')).stdout,
      'search x.org\nnameserver 127.64.201.1\noptions ndots:2\n',
    );
    await remove('vm-1');
    await untilGone('vm-1');
    assert.equal(existsSync(join(directory, 'kubelet/pods', pod.metadata.uid ?? '')), false);
    assert.deepEqual(
      (await eventsOf('vm-1')).map((event) => event.split(':')[0]),
      ['Pulled', 'Created', 'Started', 'Pulled', 'Created', 'Started', 'Killing'],
    );
  });

  test('an address that another pod has is waited for', async () => {
    const annotations = { 'bosh.cloudfoundry.org/ip-address': '127.64.201.11' };
    await podOf('first', { containers: [container(idle)] }, annotations);
    await untilRunning('first');
    await podOf('second', { containers: [container(idle)] }, annotations);
    await until(async () =>
      (await eventsOf('second')).some((event) =>
        /FailedCreatePodSandBox.*127\.64\.201\.11 is in use/.test(event),
      )
        ? true
        : undefined,
    );
    await remove('first');
    await untilRunning('second');
    await remove('second');
    await untilGone('second');
  });

  test('an address on which somebody else on the machine listens is waited for', async () => {
    const other = createServer().listen(0, '127.64.201.12');
    await once(other, 'listening');
    await podOf(
      'crowded',
      { containers: [container(idle)] },
      { 'bosh.cloudfoundry.org/ip-address': '127.64.201.12' },
    );
    await until(async () =>
      (await eventsOf('crowded')).some((event) =>
        /FailedCreatePodSandBox.*another process of this machine/.test(event),
      )
        ? true
        : undefined,
    );
    other.close();
    await untilRunning('crowded');
    await remove('crowded');
    await untilGone('crowded');
  });

  test('an image that is not the host root is an image pull error', async () => {
    await podOf('stranger', { containers: [container('true', { image: 'debian:12' })] });
    await untilPod(
      'stranger',
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull',
    );
    assert.ok(
      (await eventsOf('stranger')).some((event) => event.includes('Failed to pull image "debian:12"')),
    );
    await remove('stranger');
    await untilGone('stranger');
  });

  test('a container that ends is started again at once, then with a back-off', async () => {
    await podOf('crashing', { containers: [container('echo run; exit 3')] });
    const pod = await untilPod(
      'crashing',
      (each) => each.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    const [status] = pod.status?.containerStatuses ?? [];
    assert.equal(status?.restartCount, 1);
    assert.equal(status?.lastState?.terminated?.exitCode, 3);
    assert.equal(pod.status?.phase, 'Running');
    assert.equal(await logsOf('crashing'), 'run\n');
    assert.equal(await logsOf('crashing', { previous: true }), 'run\n');
    await remove('crashing');
    await untilGone('crashing');
  });

  test('a pod that is never restarted ends Succeeded or Failed', async () => {
    await podOf('good', { restartPolicy: 'Never', containers: [container('true')] });
    await podOf('bad', {
      restartPolicy: 'Never',
      containers: [container('echo why > /dev/termination-log; exit 4')],
    });
    await untilPod('good', (pod) => pod.status?.phase === 'Succeeded');
    const bad = await untilPod('bad', (pod) => pod.status?.phase === 'Failed');
    assert.equal(bad.status?.containerStatuses?.[0]?.state?.terminated?.message, 'why\n');
    await Promise.all([remove('good'), remove('bad')]);
    await Promise.all([untilGone('good'), untilGone('bad')]);
  });

  test('preStop runs before TERM; KILL comes when the grace is over', async () => {
    const volume = await createVolume('pv-stop');
    await podOf('stubborn', {
      terminationGracePeriodSeconds: 1,
      containers: [
        container('trap "echo term >> /v/order" TERM; echo up; while :; do sleep 0.05; done', {
          lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', 'echo hook >> /v/order'] } } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        }),
      ],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim-pv-stop' } }],
    });
    await untilRunning('stubborn');
    await until(async () => ((await logsOf('stubborn')).includes('up') ? true : undefined));
    await remove('stubborn');
    await untilGone('stubborn');
    assert.equal(await readFile(join(volume, 'order'), 'utf8'), 'hook\nterm\n');
  });

  test('a disk in the hub: seen by the VM and by its next container; the pod waits until it is released; nothing is lost', async () => {
    const volume = await createVolume('pv-hub');
    await writeFile(join(volume, 'canary'), 'alive');
    const vm = await hubVm('vm-hub');
    await untilRunning('vm-hub');
    await attachment('attach', vm, 'pv-hub');
    await untilRunning('attach');
    await until(async () =>
      (await execIn('vm-hub', 'cat', '/hub/disks/d/canary')).stdout === 'alive' ? true : undefined,
    );
    await assert.rejects(node.remove('pv-hub'), { code: 'VOLUME_BUSY' });

    await execIn('vm-hub', '/bin/sh', '-c', 'kill -TERM 1');
    await untilPod('vm-hub', (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
    await untilRunning('vm-hub');
    assert.equal((await execIn('vm-hub', 'cat', '/hub/disks/d/canary')).stdout, 'alive');

    await remove('vm-hub');
    await until(async () =>
      (await eventsOf('vm-hub')).some((event) => /FailedUnmount.*busy/.test(event)) ? true : undefined,
    );
    assert.equal(await readFile(join(volume, 'canary'), 'utf8'), 'alive');
    await remove('attach');
    await untilGone('attach');
    await untilGone('vm-hub');
    assert.equal(await readFile(join(volume, 'canary'), 'utf8'), 'alive');
    await node.remove('pv-hub');
    assert.equal(existsSync(volume), false);
  });

  test('an attachment whose hub is not there yet waits', async () => {
    await createVolume('pv-early');
    await attachment('early', { metadata: { uid: randomUUID() }, spec: { containers: [] } }, 'pv-early');
    await until(async () =>
      (await eventsOf('early')).some((event) => /FailedMount.*hostPath type check failed/.test(event))
        ? true
        : undefined,
    );
    await remove('early');
    await untilGone('early');
  });

  test('what the node does not do is said, not ignored', async () => {
    const outside = podOf('outside', {
      containers: [container('true')],
      volumes: [{ name: 'etc', hostPath: { path: '/etc', type: 'Directory' } }],
    });
    await outside;
    await until(async () =>
      (await eventsOf('outside')).some((event) => /FailedMount.*\/etc is refused/.test(event))
        ? true
        : undefined,
    );
    await podOf('limited', { containers: [container('true', { resources: { limits: { memory: '1Gi' } } })] });
    const limited = await untilPod('limited', (pod) => pod.status?.phase === 'Failed');
    assert.match(limited.status?.message ?? '', /cannot enforce/);
    await Promise.all([remove('outside'), remove('limited')]);
    await Promise.all([untilGone('outside'), untilGone('limited')]);
  });

  test('exec with a terminal has one, with the size that was asked for', async () => {
    await podOf('terminal', { containers: [container(idle)] });
    await untilRunning('terminal');
    const command = [
      '/bin/sh',
      '-c',
      'tty; while [ "$(stty size)" != "40 100" ]; do sleep 0.05; done; stty size; exit 6',
    ];
    const session = await node.exec({
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
    await remove('terminal');
    await untilGone('terminal');
  });

  test('a forced deletion kills at once and leaves nothing', async () => {
    const pod = await podOf('forced', {
      containers: [container('trap "" TERM; while :; do sleep 0.05; done')],
    });
    await untilRunning('forced');
    await api.delete({ resource: pods, namespace: 'bosh', name: 'forced' }, { gracePeriodSeconds: 0 });
    await until(async () =>
      existsSync(join(directory, 'kubelet/pods', pod.metadata.uid ?? '')) ? undefined : true,
    );
  });

  test('after a restart of the node the same pod runs again: uid, address, disk volumes', async () => {
    await podOf('lasting', {
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
    const before = await untilRunning('lasting');
    await node.stop(0);
    await unmountNode(directory);
    node = await start();
    const again = await untilPod(
      'lasting',
      (pod) =>
        pod.status?.containerStatuses?.[0]?.restartCount === 1 && pod.status.containerStatuses[0].ready,
    );
    assert.equal(again.metadata.uid, before.metadata.uid);
    assert.equal(again.status?.podIP, before.status?.podIP);
    await until(async () => ((await logsOf('lasting')) === 'x\nx\ny\n' ? true : undefined));
    await remove('lasting');
    await untilGone('lasting');
  });
});

/** What the end of the daemon's mount namespace does to the node's own mounts. */
async function unmountNode(directory: string): Promise<void> {
  for (;;) {
    const [entry] = mountsAtOrBelow(await readMountTable(), directory);
    if (entry === undefined) {
      return;
    }
    const result = await runCommand('umount', ['--lazy', entry.target]);
    assert.equal(result.exitCode, 0, result.stderr);
  }
}

async function until<T>(attempt: () => Promise<T | undefined>, describe?: () => Promise<string>): Promise<T> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const result = await attempt();
    if (result !== undefined) {
      return result;
    }
    if (Date.now() > deadline) {
      assert.fail(`waited 15 s for ${attempt.toString()} ${(await describe?.()) ?? ''}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
