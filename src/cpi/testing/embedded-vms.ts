import type { Stored } from '../../kubernetes/object.ts';
import assert from 'node:assert/strict';
import { isProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { createVm } from '../vm/create-vm.ts';
import type { EmbeddedWorld } from './embedded-world.ts';
import { createVmRequest, namespace } from './test-cloud.ts';

export interface EmbeddedVms {
  readonly newVm: (cloud?: CallContext, properties?: object) => Promise<string>;
  /** Creates a disk that is attached to that VM. */
  readonly newDisk: (vm: string) => Promise<{ readonly disk: string; readonly hint: string }>;
  readonly podOf: (name: string) => Promise<Stored<Pod>>;
  /** Returns how often a disk is mounted at its path in the hub, as the VM sees it. */
  readonly mountsOf: (vm: string, disk: string) => Promise<number>;
}

/**
 * Returns functions for the VMs `agent-1`, `agent-2` and so on of one suite. `network`: the first three
 * numbers of addresses that no other suite uses.
 */
export function embeddedVms(world: () => EmbeddedWorld, network: string): EmbeddedVms {
  let count = 0;
  return {
    async newVm(cloud = world().cloud, properties = {}) {
      count += 1;
      const networks = { default: { type: 'manual', ip: `${network}.${count}` } };
      const [cid] = await createVm(
        cloud,
        createVmRequest({ agentId: `agent-${count}`, networks, properties }),
      );
      return cid;
    },
    async newDisk(vm) {
      const disk = await createDisk(world().cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm });
      return { disk, hint: await attachDisk(world().cloud, { vmCid: vm, diskCid: disk }) };
    },
    podOf: (name) => world().cloud.api.get({ resource: pods, namespace, name }),
    async mountsOf(vm, disk) {
      const table = await world().inVm(vm, 'cat /proc/self/mountinfo');
      return table.split('\n').filter((line) => line.split(' ')[4] === `/warden-cpi-dev/disks/${disk}`)
        .length;
    },
  };
}

/** Returns a check for `assert.rejects`: DISK_BUSY with that message. */
export const busy = (message: RegExp) => (error: unknown) => {
  assert.ok(isProductError(error, 'DISK_BUSY'), String(error));
  assert.match(error.message, message);
  return true;
};
