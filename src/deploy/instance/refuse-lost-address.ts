import { isSameAddress } from '../../bosh/manifest/ip-range.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { lostMbusHost } from '../../bosh/manifest/manifest-warnings.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Run } from '../run.ts';

/**
 * Throws MANIFEST_INVALID if the instance would move away from the address of its mbus. The current agent at
 * the mbus address reports that address as its own, so no proxy or NAT is in between, and the new VM's agent
 * would never be reachable. The healthy VM is kept; bosh deletes it and then waits ten minutes. An mbus host
 * that merely differs from the static IPs is valid, as in bosh: a proxy or NAT may be in front of the VM.
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
