import assert from 'node:assert/strict';
import { clusterRoleBindings, clusterRoles } from '../../../src/kubernetes/resources.ts';
import { applyRoles } from '../../conformance/roles.ts';
import { builtArtefacts } from '../../cpi/cpi-world.ts';
import { rightsInForce } from '../../support/rights-in-force.ts';
import { StoppedCpi } from '../../support/stopped-cpi.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** Creates the account of manifests/rbac in the namespace of this world, for `withStoppedCpi`. */
export async function makeCpiAccount(world: ClusterWorld): Promise<void> {
  const { api, namespace } = world;
  world.atClose(async () => {
    for (const resource of [clusterRoleBindings, clusterRoles])
      await api.delete({ resource, name: `bosh-cpi-${namespace}` });
  });
  await applyRoles(api, { namespace });
  await rightsInForce(api, namespace);
}

/** Runs `use` with the built CPI. */
export async function withStoppedCpi(
  { namespace, cluster }: ClusterWorld,
  use: (cpi: StoppedCpi) => Promise<void>,
): Promise<void> {
  const artefacts = builtArtefacts();
  const artefact = artefacts.get('executable') ?? artefacts.get('bundle');
  assert.ok(artefact !== undefined);
  const cpi = await StoppedCpi.open({
    ...{ artefact, access: cluster.access, namespace },
    settings: {
      kubernetes: { kubelet_root_dir: cluster.kubeletRootDirectory },
      agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' },
      // The agents of these VMs have no certificate and do not listen.
      deadlines: { release: 2, agent: 1 },
    },
  });
  try {
    await use(cpi);
  } finally {
    await cpi.close();
  }
}
