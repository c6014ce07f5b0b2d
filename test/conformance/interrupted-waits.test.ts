import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import type { Fate } from '../support/api-proxy.ts';
import { until } from '../support/until.ts';
import { clause, skipHere } from './clause.ts';
import { expiredAndFresh } from './fresh-credential.ts';
import { pass, refusal, through } from './through-proxy.ts';
import { World } from './world.ts';

describe('interrupted waits', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  clause('45a', async (t) => {
    const { restart } = world.target;
    if (restart === undefined) {
      skipHere(t, '45a');
      return;
    }
    const nowhere = { node_selector: { 'conformance.test/none': 'none' } };
    const existing = await world.objects();
    const waiting = world.request('create_vm', world.vmArguments({ properties: nowhere }), {
      settings: { deadlines: { schedule: 30 } },
    });
    await until(
      'the pod that fits nowhere',
      async () => (await world.objects()).vms.length > existing.vms.length,
    );
    await restart();
    const { error } = await waiting;
    assert.equal(error?.type, 'Bosh::Clouds::VMCreationFailed', error?.message);
    assert.match(error?.message ?? '', /conformance\.test|node affinity|node selector/iu);
    assert.deepEqual(await world.objects(), existing);
    await world.call('delete_vm', await world.newVm());
  });

  clause('45b', async () => {
    let expired = false;
    const decide = (): Fate => (expired ? refusal(401, 'Unauthorized') : pass);
    await through(world, decide, async ({ settings }, { requests }) => {
      const nowhere = { node_selector: { 'conformance.test/none': 'none' } };
      const waiting = world.request('create_vm', world.vmArguments({ properties: nowhere }), {
        settings: { ...settings, deadlines: { schedule: 3 } },
      });
      while (!requests.some(({ url }) => url.includes('watch=')))
        await new Promise((resolve) => setTimeout(resolve, 10));
      expired = true;
      const { error } = await waiting;
      assert.match(error?.message ?? '', /401|Unauthorized|credential|token/u);
    });
    for (const cid of (await world.objects()).secrets) await world.call('delete_vm', cid);
    await expiredAndFresh(world);
  });
});
