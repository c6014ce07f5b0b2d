import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { mount, unmount } from '../mounts.ts';
import { describeInNamespace } from '../testing/in-namespace.ts';
import { boundingSet } from './capabilities.ts';
import type { ContainerMount } from './container-runtime.ts';
import { privileged, runtimeWorld, until } from './testing/runtime-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = runtimeWorld();

  test('mounts volumes with the requested access and propagation', async () => {
    const volume = join(world.layout.kubelet, 'volume');
    await mkdir(join(volume, 'sub'), { recursive: true });
    await writeFile(join(volume, 'file'), 'content');
    const entry = (target: string, changes: Partial<ContainerMount>): ContainerMount => ({
      ...{ source: volume, target, kind: 'directory', readOnly: false, propagation: 'None' },
      ...changes,
    });
    const { output } = await world.shell(
      'echo x > /var/vcap/data/written; echo y > /read-only/y; cat /var/vcap/data/inner/settings.json; cat /read-only/file',
      {
        mounts: [
          entry('/var/vcap/data', {}),
          entry('/read-only', { readOnly: true }),
          entry('/var/vcap/data/inner/settings.json', {
            source: join(volume, 'file'),
            kind: 'file',
            readOnly: true,
          }),
        ],
      },
    );
    assert.match(output, /cannot create \/read-only\/y: Read-only/);
    assert.equal(output.match(/content/g)?.length, 2);
    assert.equal(await readFile(join(volume, 'written'), 'utf8'), 'x\n');
  });

  test('propagates a mount of a Bidirectional container to a HostToContainer one, to the next one, and to no other', async () => {
    await mount('--bind', world.layout.kubelet, world.layout.kubelet);
    await mount('--make-private', world.layout.kubelet);
    await mount('--make-shared', world.layout.kubelet);
    const hub = join(world.layout.kubelet, 'hub');
    const disk = join(world.directory, 'volumes', 'disk');
    await mkdir(hub, { recursive: true });
    await mkdir(join(disk, 'store'), { recursive: true });
    await mount('-t', 'tmpfs', 'hub', hub);
    await mkdir(join(hub, 'disks'));
    const receiving = world.plan(
      [
        '/bin/sh',
        '-c',
        'until [ -d /hub/disks/d/store ]; do sleep 0.02; done; echo seen; mkdir -p /store; mount --bind /hub/disks/d/store /store && echo canary > /store/canary; echo stored; while [ -d /hub/disks/d/store ]; do sleep 0.02; done; echo gone; cat /store/canary; sleep 1000',
      ],
      {
        mounts: [
          { source: hub, target: '/hub', kind: 'directory', readOnly: false, propagation: 'HostToContainer' },
        ],
        security: privileged,
      },
    );
    const vm = await world.start(receiving);
    const closed = await world.start(
      world.plan(['sleep', '1000'], {
        mounts: [{ source: hub, target: '/hub', kind: 'directory', readOnly: false, propagation: 'None' }],
      }),
    );
    const attach = await world.start(
      world.plan(['/bin/sh', '-c', 'mkdir /hub/d && mount --bind /volume /hub/d && echo bound; sleep 1000'], {
        mounts: [
          {
            source: join(hub, 'disks'),
            target: '/hub',
            kind: 'directory',
            readOnly: false,
            propagation: 'Bidirectional',
          },
          { source: disk, target: '/volume', kind: 'directory', readOnly: false, propagation: 'None' },
        ],
        security: {
          ...privileged,
          boundingSet: boundingSet({ privileged: true, ownUserNamespace: false, add: [], drop: [] }),
        },
        nodePids: true,
        namespaces: undefined,
      }),
    );
    await until(
      () => vm.output().includes('stored'),
      () => vm.output() + attach.output(),
    );
    assert.equal(await readFile(join(disk, 'store', 'canary'), 'utf8'), 'canary\n');
    const session = await closed.exec(
      {
        command: ['sh', '-c', 'test -d /hub/disks/d && ! test -e /hub/disks/d/store'],
        environment: new Map([['PATH', '/usr/bin:/bin']]),
      },
      { stdin: false },
    );
    assert.equal((await session.exited).exitCode, 0, 'a mount reached a container that asked for none');
    await closed.kill();
    await vm.kill();
    const again = await world.start({ ...receiving, id: `${receiving.id}-again` });
    await until(
      () => again.output().includes('stored'),
      () => again.output(),
    );
    const release = await attach.exec(
      { command: ['umount', '/hub/d'], environment: new Map([['PATH', '/usr/bin:/bin']]) },
      { stdin: false },
    );
    assert.equal((await release.exited).exitCode, 0);
    await until(
      () => again.output().includes('gone'),
      () => again.output(),
    );
    await attach.kill();
    await again.kill();
    await unmount(hub);
    assert.deepEqual(await readdir(join(disk, 'store')), ['canary']);
  });

  test('reports a failed mount as an error, and leaves no process', async () => {
    const mounts: ContainerMount[] = [
      {
        source: join(world.layout.kubelet, 'absent'),
        target: '/data',
        kind: 'directory',
        readOnly: false,
        propagation: 'None',
      },
    ];
    await assert.rejects(world.start(world.plan(['true'], { mounts })), /absent/);
    assert.deepEqual(await readdir(world.layout.plans), ['host.fstab']);
  });

  test('does not follow a symlink in a volume out of it', async () => {
    const volume = join(world.layout.kubelet, 'trap');
    await mkdir(volume, { recursive: true });
    await symlink(world.directory, join(volume, 'link'));
    const inner = join(world.layout.kubelet, 'inner');
    await mkdir(inner, { recursive: true });
    await assert.rejects(
      world.start(
        world.plan(['true'], {
          mounts: [
            { source: volume, target: '/data', kind: 'directory', readOnly: false, propagation: 'None' },
            {
              source: inner,
              target: '/data/link/made',
              kind: 'directory',
              readOnly: false,
              propagation: 'None',
            },
          ],
        }),
      ),
    );
    assert.equal((await readdir(world.directory)).includes('made'), false);
  });
});
