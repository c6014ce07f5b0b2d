import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noNatsServer } from '../../src/agent/testing/nats-server.ts';
import { DirectorSetup } from '../director/scripted/director-setup.ts';
import { describeScenario, type Scene } from '../director/scripted/scenario.ts';
import { CpiProcess } from '../support/cpi-process.ts';
import { checkout } from '../support/embedded-environment.ts';
import {
  type UpstreamAgent,
  upstreamAgent,
  withoutUpstreamDirectorAgent,
} from '../support/upstream-programs.ts';
import { network } from './network.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress } from './support/fixed-address.ts';
import { withoutNodes } from './test-cluster.ts';

interface Run {
  readonly name: string;
  readonly upstream: UpstreamAgent | undefined;
  readonly hasSignedUrls: boolean;
  readonly skip: string | false;
}

const ours = { upstream: undefined, skip: noNatsServer };
const upstreams = { upstream: upstreamAgent(), skip: withoutUpstreamDirectorAgent() || noNatsServer };
const runs: readonly Run[] = [
  { name: 'our agent', ...ours, hasSignedUrls: true },
  { name: "upstream's agent", ...upstreams, hasSignedUrls: false },
  { name: "upstream's agent, signed URLs", ...upstreams, hasSignedUrls: true },
];

describeCluster('a scripted director on real kubelets', (world) => {
  for (const [number, run] of runs.entries())
    describeScenario(run.name, () => openScene(world(), number, run), withoutNodes.skip ?? run.skip);
});

/** Starts a director in the network of the pods. */
async function openScene(world: ClusterWorld, number: number, run: Run): Promise<Scene> {
  const { cluster, namespace, api } = world;
  const setup = await DirectorSetup.start({
    ...{ address: network.controlPlane, hasSignedUrls: run.hasSignedUrls, out: () => undefined },
  });
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-director-'));
  const config = join(directory, 'cpi.json');
  const kubelet = { kubelet_root_dir: cluster.kubeletRootDirectory };
  const kubernetes = { kubeconfig: cluster.kubeconfig, namespace, ...kubelet };
  const { url: mbus } = setup.server;
  await writeFile(config, JSON.stringify({ kubernetes, agent: { mbus }, deadlines: { release: 2 } }), {
    mode: 0o600,
  });
  const cpi = new CpiProcess(join(checkout, 'dist', 'cpi', 'cpi'), config);
  const address = (index: number): string => fixedAddress(world, 'director', 5 * number + index);
  const deployment = await setup.deployment({
    cpi: (method, ...args) => cpi.call(method, ...args),
    stemcell: (await cluster.stemcellFor('privileged', run.upstream)).archive,
    vmProperties: { profile: 'privileged' },
    diskProperties: world.diskProperties('loop'),
    compilationAddress: address(4),
  });
  return {
    ...{ setup, deployment, hello: await setup.hello(), smoke: await setup.smoke(), api, namespace },
    ...{ addresses: [address(0), address(1), address(2), address(3)], hasSshd: true },
    close: async () => {
      await setup.close();
      await rm(directory, { recursive: true });
    },
  };
}
