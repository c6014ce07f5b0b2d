import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { describeInNamespace } from '../testing/in-namespace.ts';
import { container, idle, nodeWorld, until } from '../testing/node-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = nodeWorld();

  test('a pod waits for an address that another pod has', async () => {
    const annotations = { 'bosh.cloudfoundry.org/ip-address': '127.64.201.11' };
    await world.podOf('first', { containers: [container(idle)] }, annotations);
    await world.untilRunning('first');
    await world.podOf('second', { containers: [container(idle)] }, annotations);
    await until(async () =>
      (await world.eventsOf('second')).some((event) =>
        /FailedCreatePodSandBox.*127\.64\.201\.11 is in use/.test(event),
      )
        ? true
        : undefined,
    );
    await world.remove('first');
    await world.untilRunning('second');
    await world.remove('second');
    await world.untilDeleted('second');
  });

  test('a pod waits for an address on which another process of the machine listens', async () => {
    const other = createServer().listen(0, '127.64.201.12');
    await once(other, 'listening');
    await world.podOf(
      'crowded',
      { containers: [container(idle)] },
      { 'bosh.cloudfoundry.org/ip-address': '127.64.201.12' },
    );
    await until(async () =>
      (await world.eventsOf('crowded')).some((event) =>
        /FailedCreatePodSandBox.*another process of this machine/.test(event),
      )
        ? true
        : undefined,
    );
    other.close();
    await world.untilRunning('crowded');
    await world.remove('crowded');
    await world.untilDeleted('crowded');
  });
});
