import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecurityProfile } from '../../src/cpi/config/profile.ts';
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
  /** `kubernetes.attach`. */
  readonly attach: 'hot' | 'recreate';
  readonly profile: SecurityProfile;
  readonly hasSignedUrls: boolean;
  readonly upstream: UpstreamAgent | undefined;
  readonly skip: string | false;
}

const ours = { upstream: undefined, skip: noNatsServer };
const upstreams = { upstream: upstreamAgent(), skip: withoutUpstreamDirectorAgent() || noNatsServer };
const hot = { attach: 'hot', profile: 'privileged' } as const;
const runs: readonly Run[] = [
  { name: 'our agent, signed URLs', ...ours, ...hot, hasSignedUrls: true },
  {
    ...{ name: 'our agent, profile baseline, a pod for each change of disks', ...ours },
    ...{ attach: 'recreate', profile: 'baseline', hasSignedUrls: false },
  },
  { name: "upstream's agent", ...upstreams, ...hot, hasSignedUrls: false },
  { name: "upstream's agent, signed URLs", ...upstreams, ...hot, hasSignedUrls: true },
];

describeCluster('a scripted director on real kubelets', (world) => {
  for (const [number, run] of runs.entries())
    describeScenario(run.name, () => openScene(world(), number, run), withoutNodes.skip ?? run.skip);
});

/** Starts a director in the network of the pods. */
async function openScene(world: ClusterWorld, number: number, run: Run): Promise<Scene> {
  const { cluster, namespace, api } = world;
  const { attach, profile, upstream, hasSignedUrls } = run;
  const setup = await DirectorSetup.start({
    ...{ address: network.controlPlane, hasSignedUrls, out: () => undefined },
  });
  try {
    const { kubeconfig, kubeletRootDirectory } = cluster;
    const kubernetes = { kubeconfig, namespace, attach, kubelet_root_dir: kubeletRootDirectory };
    const config = { kubernetes, agent: { mbus: setup.server.url }, deadlines: { release: 2 } };
    const path = join(setup.directory, 'cpi.json');
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    const cpi = new CpiProcess(join(checkout, 'dist', 'cpi', 'cpi'), path);
    const address = (index: number): string => fixedAddress(world, 'director', 5 * number + index);
    const deployment = await setup.deployment({
      cpi: (method, ...args) => cpi.call(method, ...args),
      stemcell: (await cluster.stemcellFor(profile, upstream)).archive,
      vmProperties: { profile },
      diskProperties: world.diskProperties('loop'),
      compilationAddress: address(4),
    });
    return {
      ...{ setup, deployment, hello: await setup.hello(), smoke: await setup.smoke(), api, namespace },
      ...{ addresses: [address(0), address(1), address(2), address(3)], hasSshd: true },
      exec: (vmCid, script) => world.exec(vmCid, script),
      close: () => setup.close(),
    };
  } catch (error) {
    await setup.close();
    throw error;
  }
}
