import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, pods, secrets } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress } from './support/fixed-address.ts';
import { type Deployer, HelloDeployment, ownDeployer } from './support/hello-deployment.ts';

const boshCli = process.env['BOSH_CLI'];

const deployers: readonly { name: string; deployer: Deployer; skip: string | false }[] = [
  { name: 'bosh-kubernetes', deployer: ownDeployer, skip: false },
  {
    name: 'the bosh CLI',
    deployer: [boshCli ?? 'bosh', '--tty'],
    skip: boshCli === undefined ? 'needs the bosh CLI: BOSH_CLI=<path>' : false,
  },
];

const profiles = ['privileged', 'sys-admin', 'baseline'] as const;

describeCluster('create-env of examples/hello', (world) => {
  for (const [first, { name, deployer, skip }] of deployers.entries()) {
    for (const [index, profile] of profiles.entries()) {
      test(
        `${name}, ${profile}: deployed, a larger disk with the data, --recreate, delete-env`,
        { skip, timeout: 900_000 },
        async () => {
          const { cluster, namespace, api } = world();
          const deployment = await HelloDeployment.open({
            ...{ address: fixedAddress(world(), 'profiles', first * profiles.length + index) },
            ...{ namespace, profile, deployer },
            stemcellArchive: (await cluster.stemcellFor(profile)).archive,
            kubeconfig: cluster.kubeconfig,
            kubeletRootDirectory: cluster.kubeletRootDirectory,
          });
          const settings = { diskSize: 64, audience: 'operators' };
          await deployment.createEnv(settings);
          const since = sinceOf(await deployment.greeting());

          await deployment.createEnv({ ...settings, diskSize: 128 });
          assert.equal(sinceOf(await deployment.greeting()), since);

          await deployment.createEnv({ ...settings, diskSize: 128 }, '--recreate');
          assert.equal(sinceOf(await deployment.greeting()), since);

          await deployment.deleteEnv(settings);
          for (const resource of [pods, secrets, persistentVolumeClaims]) {
            await until(`the ${resource.plural} to go`, async () => {
              const query = { namespace, labelSelector: 'bosh.cloudfoundry.org/kind' };
              return (await api.list(resource, query)).items.length === 0;
            });
          }
          await deployment.close();
        },
      );
    }
  }
});

function sinceOf(greeting: string): string {
  const since = /kept on a persistent disk since (\S+)\./u.exec(greeting)?.[1];
  assert.ok(since !== undefined, greeting);
  return since;
}
