import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeInNamespace } from '../testing/in-namespace.ts';
import type { ContainerPlan } from './container-runtime.ts';
import { privileged, runtimeWorld } from './testing/runtime-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = runtimeWorld();

  test('has its own root, with only read-only directories of the machine', async () => {
    await writeFile(join(world.directory, 'canary'), 'alive');
    const { output } = await world.shell(
      `ls -A /; ls ${world.directory} 2>&1; cat /opt/bosh-kubernetes/agent.cjs; touch /opt/bosh-kubernetes/x 2>&1; touch /usr/x 2>&1; touch /root/mine && echo written`,
    );
    assert.match(output, /No such file or directory/);
    assert.match(output, /\/\/ agent/);
    assert.match(output, /touch: cannot touch '\/opt\/bosh-kubernetes\/x': Read-only/);
    assert.match(output, /touch: cannot touch '\/usr\/x': Read-only/);
    assert.match(output, /written/);
    assert.doesNotMatch(output, /^\.[0-9a-f]{32}$/m);
  });

  test('gets no permission over the machine as a privileged container', async () => {
    const { output } = await world.shell(
      [
        'exec 2>&1',
        'mount -o remount,bind,rw /usr && echo BAD remount usr',
        'mount -o remount,rw /usr && echo BAD remount usr superblock',
        'umount /proc/sys && echo BAD umount proc sys',
        'mount -o remount,bind,rw /proc/sys && echo BAD remount proc sys',
        'mkdir /tmp/p; mount -t proc p /tmp/p && echo BAD new proc',
        'unshare --pid --fork --mount mount -t proc p /tmp/p && echo BAD nested proc',
        'unshare --user --map-root-user --pid --fork --mount mount -t proc p /tmp/p && echo BAD nested user proc',
        'echo 61 > /proc/sys/vm/swappiness && echo BAD sysctl',
        'sysctl -w kernel.panic=9 && echo BAD sysctl program',
        'mknod /tmp/disk b 254 0 && echo BAD mknod',
        'mknod /dev/disk b 8 0 && echo BAD mknod dev',
        'head -c1 /tmp/disk && echo BAD open',
        'unshare --cgroup true && echo BAD cgroup namespace',
        'mount -t cgroup2 c /tmp/p && echo BAD cgroup2',
        'mount -t sysfs s /tmp/p && echo BAD sysfs',
        'mount -o remount,rw /sys && echo BAD sys',
        'ls /sys/fs/cgroup | grep . && echo BAD cgroups',
        'mount --bind /tmp /mnt && echo mounts work',
        'mount -t tmpfs t /mnt && echo tmpfs works',
        'hostname other && hostname',
        'exit 0',
      ].join('\n'),
      { security: privileged },
    );
    assert.doesNotMatch(output, /BAD/, output);
    assert.match(output, /mounts work/);
    assert.match(output, /tmpfs works/);
    assert.match(output, /^other$/m);
  });

  test('has exactly the default capabilities without a request, and all in its namespace if it is privileged', async () => {
    const mask = async (changes: Partial<ContainerPlan>): Promise<string> =>
      (await world.shell('grep CapEff /proc/self/status', changes)).output.split('\t')[1]?.trim() ?? '';
    assert.equal(await mask({}), '00000000a80425fb');
    assert.equal(
      BigInt(`0x${await mask({ security: privileged })}`)
        .toString(2)
        .includes('0'),
      false,
    );
  });
});
