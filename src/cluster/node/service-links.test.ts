import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../kubernetes/service.ts';
import { services } from '../../kubernetes/resources.ts';
import { describeInNamespace } from './testing/in-namespace.ts';
import { container, idle, nodeWorld } from './testing/node-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = nodeWorld();

  test('a container finds the Services of its namespace in its environment, unless the pod wants none', async () => {
    const { spec } = await world.api.create<Service>(services, {
      metadata: { namespace: 'bosh', name: 'my-database' },
      spec: { ports: [{ name: 'sql', port: 5432 }] },
    });
    await world.podOf('linked', { containers: [container(idle)] });
    await world.podOf('alone', { containers: [container(idle)], enableServiceLinks: false });
    await world.untilRunning('linked');
    await world.untilRunning('alone');

    const linked = (await world.execIn('linked', 'env')).stdout.split('\n');
    assert.ok(linked.includes(`MY_DATABASE_SERVICE_HOST=${spec.clusterIP}`), linked.join('\n'));
    assert.ok(linked.includes('MY_DATABASE_SERVICE_PORT_SQL=5432'), linked.join('\n'));
    assert.doesNotMatch((await world.execIn('alone', 'env')).stdout, /MY_DATABASE/);

    for (const name of ['linked', 'alone']) {
      await world.remove(name);
      await world.untilGone(name);
    }
  });
});
