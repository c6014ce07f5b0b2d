import { test } from 'node:test';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { assertIntact } from './support/assert-intact.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { attachDetachCycle, survivesAttachDetachCycle } from './support/agent-scenarios.ts';
import { withoutAddresses } from './support/fixed-address.ts';
import { withoutStemcell } from './support/open-cluster.ts';

describeCluster('strategies of attaching on real kubelets', (world) => {
  const skip = withoutAddresses();

  test(
    'recreate: two disks are attached and detached by new pods that keep cid, agent id, address and data',
    { skip },
    () =>
      survivesAttachDetachCycle(world(), {
        attach: 'recreate',
        number: 0,
        profile: 'privileged',
        podsBeforeTheEnd: 5,
      }),
  );

  test('auto attaches hot if the namespace admits attachment pods', { skip }, () =>
    survivesAttachDetachCycle(world(), {
      attach: 'auto',
      number: 1,
      profile: 'privileged',
      podsBeforeTheEnd: 1,
    }),
  );

  test(
    'auto where Pod Security baseline refuses attachments: the same, by new pods',
    { skip: skip || withoutStemcell('baseline') },
    async () => {
      const enforce = (level: string | null): Promise<unknown> => {
        const labels = { 'pod-security.kubernetes.io/enforce': level };
        return world().api.patch({ resource: namespaces, name: world().namespace }, { metadata: { labels } });
      };
      await enforce('baseline');
      try {
        const disks = await attachDetachCycle(world(), {
          ...{ attach: 'auto', number: 2, profile: 'baseline', podsBeforeTheEnd: 5 },
        });
        await enforce(null);
        await assertIntact(world(), disks);
      } finally {
        await enforce(null);
      }
    },
  );
});
