import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { evaluate } from '../../embedded-cluster/api-server/access/authorize.ts';
import { ruleMatches, type Attributes } from '../../embedded-cluster/api-server/access/policy-rule.ts';
import {
  serviceAccountGroups,
  serviceAccountUsername,
} from '../../embedded-cluster/api-server/access/user.ts';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { methodNames } from '../../src/cpi/protocol/methods.ts';
import { namespace } from '../../src/cpi/testing/test-cloud.ts';
import { callEveryMethod, callForDiskNamespace } from './roles-scenario.ts';
import { rightsOf, RolesWorld, type Manifest } from './roles-world.ts';

/**
 * The CPI as a service account with the roles of manifests/rbac and nothing else, on the embedded cluster.
 */
describeInNamespace(import.meta.filename, () => {
  function describeRoles(
    manifests: readonly Manifest[],
    scenario: (world: RolesWorld) => Promise<void>,
    define: (world: () => RolesWorld) => void,
  ): void {
    describe(`with ${manifests.join(' and ')}`, () => {
      let world: RolesWorld;
      before(async () => {
        world = await RolesWorld.start(manifests);
        await scenario(world);
      });
      after(() => world.stop());
      define(() => world);
    });
  }

  describeRoles(['namespaced', 'cluster'], callEveryMethod, (world) => {
    test('every method was called', () => assertAllCalled(world()));

    test('no request was forbidden', () => {
      const name = serviceAccountUsername(namespace, 'bosh-cpi');
      const user = { name, groups: [...serviceAccountGroups(namespace), 'system:authenticated'] };
      const { registry } = world().world.api;
      assert(world().requests.length > 50);
      const refused = world().requests.filter((attributes) => !evaluate(registry, user, attributes).allowed);
      assert.deepEqual(refused, []);
    });

    test('every right of the manifests was used', () => assertAllUsed(world(), ['namespaced', 'cluster']));
  });

  describeRoles(['namespaced'], callEveryMethod, (world) => {
    test('every method works without rights to read cluster-scoped objects', () => assertAllCalled(world()));
  });

  describeRoles(['namespaced', 'disks/disk-namespace'], callForDiskNamespace, (world) => {
    test('disks in a namespace of their own: every right there was used', () =>
      assertAllUsed(world(), ['disks/disk-namespace']));
  });
});

function assertAllCalled({ called }: RolesWorld): void {
  const missing = methodNames.filter((method) => !called.has(method));
  assert.deepEqual(missing, [], 'call it in roles-scenario.ts, and name its verbs in manifests/rbac');
}

/** Rights that the CPI uses only on another cluster, with the reason. */
const notHere: readonly string[] = [
  // nodes are read if a pod is not deleted within seconds; src/cpi/lost-node.test.ts loses some
  'get nodes',
  // the embedded cluster has no storage driver that attaches: test/cluster has one
  'list volumeattachments',
  'watch volumeattachments',
];

function assertAllUsed({ requests }: RolesWorld, manifests: readonly Manifest[]): void {
  const unused = rightsOf(manifests)
    .filter(
      ({ namespace: where, rule }) =>
        !requests.some((requirement) => ruleMatches(rule, requirement) && isIn(where, requirement)),
    )
    .map(({ rule: { verbs = [], resources = [] } }) => `${verbs.join()} ${resources.join()}`);
  assert.deepEqual(
    unused.filter((right) => !notHere.includes(right)),
    [],
  );
}

const isIn = (where: string | undefined, requirement: Attributes): boolean =>
  where === undefined || ('namespace' in requirement && requirement.namespace === where);
