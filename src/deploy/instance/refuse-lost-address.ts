import { isSameAddress } from '../../bosh/manifest/ip-range.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { lostMbusHost } from '../../bosh/manifest/mbus-host.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Run } from '../run.ts';

/**
 * Throws MANIFEST_INVALID when the instance is to move away from the address of its mbus: the agent that answers there says
 * that the address is its own, so nothing is between, and the new VM's agent could never answer. The healthy VM is kept, where
 * bosh deletes it and waits ten minutes. An mbus host that is merely another one than the static IPs is no fault, as for bosh:
 * a proxy or a translation of addresses may be before the VM.
 */
export async function assertAgentReachableAfterMove(
  { agent, state }: Run,
  manifest: Manifest,
): Promise<void> {
  const lost = lostMbusHost(manifest);
  if (state.state.current_vm_cid === '' || lost === undefined) return;
  let addresses: readonly (string | undefined)[];
  try {
    await agent.ping();
    addresses = Object.values((await agent.getState()).addresses);
  } catch (error) {
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return;
  }
  const { host, staticIps } = lost;
  if (!addresses.some((address) => address !== undefined && isSameAddress(address, host))) return;
  throw new ProductError(
    'MANIFEST_INVALID',
    `${manifest.cloudProvider.mbusAt}: '${host}' is the address of the VM itself whose agent answers there, and the instance is ` +
      `to have ${staticIps.map((ip) => `'${ip}'`).join(', ')}: its agent could not be reached. Nothing was changed; ` +
      'name the same address in both places',
  );
}
