import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Director, Lifecycle } from '../director.ts';

/** `deployment/instance-group` of a director under test, and what each is; `app/absent` is in no manifest. */
export const conformanceGroups: Readonly<Record<string, Lifecycle>> = {
  'app/web': 'service',
  'app/smoke-tests': 'errand',
  'app/later': 'undecided',
};

/** What every Director does. `open` gives one with the groups of `conformanceGroups`. */
export function testDirector(name: string, open: (t: TestContext) => Promise<Director>): void {
  test(`${name}: tells services, errands and what nobody can tell; a group that it does not know is a service`, async (t) => {
    const director = await open(t);
    for (const [group, lifecycle] of Object.entries({ ...conformanceGroups, 'app/absent': 'service' })) {
      const [deployment = '', instanceGroup = ''] = group.split('/');
      assert.equal(await director.lifecycleOf({ deployment, instanceGroup }), lifecycle, group);
      assert.equal(await director.lifecycleOf({ deployment, instanceGroup }), lifecycle, `${group}, again`);
    }
  });
}
