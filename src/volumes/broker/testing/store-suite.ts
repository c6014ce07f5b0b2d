import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { BindingRecord, BrokerStore, InstanceRecord, StoreUpdate } from '../store/broker-store.ts';

export function instanceRecord(id: string): InstanceRecord {
  const ids = { id, serviceId: 's', planId: 'p', organizationGuid: 'o', spaceGuid: 'g' };
  return { ...ids, provisioned: { share: 'h/p', readonly: true }, options: { share: 'h/p' } };
}

export function bindingRecord(id: string, instanceId: string): BindingRecord {
  return {
    id,
    instanceId,
    serviceId: 's',
    planId: 'p',
    appGuid: 'a',
    options: { password: 'geheim' },
    volumeMount: {
      driver: 'd',
      container_dir: '/c',
      mode: 'rw',
      device_type: 'shared',
      device: { volume_id: 'v', mount_config: { source: 'x' } },
    },
  };
}

const done = { status: 200, body: {} };
const bindingIdsIn = async (store: BrokerStore, instanceId: string): Promise<readonly string[]> => {
  let ids: readonly string[] = [];
  await store.updateInstance(instanceId, ({ bindingIds }) => {
    ids = bindingIds;
    return { answer: done };
  });
  return ids;
};
const writing = (change: Omit<StoreUpdate, 'answer'>): (() => StoreUpdate) => {
  return () => ({ answer: done, ...change });
};

/** Tests any adapter of BrokerStore. `open` returns an empty store, and closes it after the test. */
export function storeSuite(name: string, open: (t: TestContext) => Promise<BrokerStore>): void {
  test(`${name}: a written record is read again, and is absent after its deletion`, async (t) => {
    const store = await open(t);
    const target = { instanceId: 'i', bindingId: 'b' };
    assert.deepEqual(await store.read(target), { instance: undefined, binding: undefined });
    assert.deepEqual(await bindingIdsIn(store, 'i'), []);
    const instance = instanceRecord('i');
    const binding = bindingRecord('b', 'i');
    assert.deepEqual(await store.change({ instanceId: 'i' }, writing({ instance })), done);
    await store.change(target, writing({ binding }));
    await store.change({ instanceId: 'i', bindingId: 'a' }, writing({ binding: bindingRecord('a', 'i') }));
    assert.deepEqual(await store.read(target), { instance, binding });
    assert.deepEqual(await bindingIdsIn(store, 'i'), ['a', 'b']);
    await store.change({ instanceId: 'i' }, writing({ instance: { ...instance, options: {} } }));
    assert.deepEqual((await store.read(target)).instance?.options, {});
    await store.change(target, writing({ binding: null }));
    await store.change({ instanceId: 'i', bindingId: 'a' }, writing({ binding: null }));
    await store.updateInstance('i', ({ instance: stored }) => {
      assert.equal(stored?.id, 'i');
      return { answer: done, instance: null };
    });
    assert.deepEqual(await store.read(target), { instance: undefined, binding: undefined });
  });

  test(`${name}: two bindings with one id in two instances are separate`, async (t) => {
    const store = await open(t);
    for (const instanceId of ['i', 'j']) {
      await store.change({ instanceId }, writing({ instance: instanceRecord(instanceId) }));
      await store.change(
        { instanceId, bindingId: 'b' },
        writing({ binding: bindingRecord('b', instanceId) }),
      );
    }
    await store.change({ instanceId: 'i', bindingId: 'b' }, writing({ binding: null }));
    const { binding } = await store.read({ instanceId: 'j', bindingId: 'b' });
    assert.deepEqual([binding?.instanceId, await bindingIdsIn(store, 'j')], ['j', ['b']]);
  });

  test(`${name}: a decision that throws changes nothing`, async (t) => {
    const store = await open(t);
    const throws = (): never => {
      throw new RangeError('no');
    };
    await assert.rejects(store.change({ instanceId: 'i' }, throws), RangeError);
    await store.change({ instanceId: 'i' }, writing({ instance: instanceRecord('i') }));
    assert.equal((await store.read({ instanceId: 'i' })).instance?.id, 'i');
  });

  test(`${name}: each of many concurrent changes decides by the result of the one before it`, async (t) => {
    const store = await open(t);
    await store.change({ instanceId: 'i' }, writing({ instance: instanceRecord('i') }));
    const add = async (): Promise<void> => {
      await store.change({ instanceId: 'i' }, ({ instance }) => {
        assert.ok(instance !== undefined);
        const count = Number(instance.options['count'] ?? '0') + 1;
        return { answer: done, instance: { ...instance, options: { count: String(count) } } };
      });
    };
    await Promise.all(Array.from({ length: 40 }, add));
    assert.equal((await store.read({ instanceId: 'i' })).instance?.options['count'], '40');
  });

  test(`${name}: reports whether it can be read`, async (t) => {
    await (await open(t)).ping();
  });
}
