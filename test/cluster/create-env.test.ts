import { test } from 'node:test';
import { profiles } from '../../src/cpi/config/profile.ts';
import {
  boshCli,
  type UpstreamAgent,
  upstreamAgent,
  withoutBoshCli,
  withoutUpstreamAgent,
} from '../support/upstream-programs.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutAddresses } from './support/fixed-address.ts';
import { withoutStemcell } from './support/open-cluster.ts';
import { type Deployer, ownDeployer } from './support/hello-deployment.ts';
import { outlivesDeploys } from './support/outlives-deploys.ts';

const deployers: readonly { name: string; deployer: Deployer; skip: string | false }[] = [
  { name: 'bosh-kubernetes', deployer: ownDeployer, skip: false },
  { name: 'the bosh CLI', deployer: [boshCli() ?? 'bosh', '--tty'], skip: withoutBoshCli() },
];

const agents: readonly { name: string; upstream: UpstreamAgent | undefined; skip: string | false }[] = [
  { name: 'our agent', upstream: undefined, skip: false },
  { name: 'the upstream agent', upstream: upstreamAgent(), skip: withoutUpstreamAgent() },
];

const all = agents.flatMap((agent) =>
  deployers.flatMap((by) =>
    profiles.map((profile) => ({
      ...{ profile, attach: 'hot', deployer: by.deployer, upstream: agent.upstream },
      ...{ by: by.name, agent: agent.name },
      skip: agent.skip || by.skip || withoutStemcell(profile, agent.upstream) || withoutAddresses(),
    })),
  ),
);

const runs = [...all, ...all.slice(0, 1).map((run) => ({ ...run, attach: 'recreate' }))];

describeCluster('create-env of examples/hello', (world) => {
  for (const [number, { by, agent, profile, attach, skip, deployer, upstream }] of runs.entries()) {
    test(
      `${by}, ${agent}, ${profile}, ${attach}: deployed, a larger disk with the data, --recreate, delete-env`,
      { skip, timeout: 900_000 },
      () => outlivesDeploys(world(), { number, profile, attach, deployer, upstream }),
    );
  }
});
