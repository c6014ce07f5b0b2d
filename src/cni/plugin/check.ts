import { requestedAddresses } from '../address/asked-addresses.ts';
import { resultAddresses } from '../address/given-addresses.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import type { DelegateContext } from '../delegate/ask-delegate.ts';
import { callDelegate } from '../delegate/ask-delegate.ts';
import { delegateConfig } from '../delegate/delegate-config.ts';
import { isObject } from '../json.ts';
import type { NetworkConfig } from './network-config.ts';

/**
 * Implements CHECK: the result of ADD contains the addresses that the pod requests, and the CHECK of the
 * delegate succeeds.
 */
export async function check(ask: DelegateContext, config: NetworkConfig): Promise<string> {
  const { prevResult } = config.all;
  if (!isObject(prevResult))
    throw new CniError(cniErrorCode.invalidConfig, `CHECK of network ${config.name} needs a prevResult`);
  const given = resultAddresses(prevResult);
  const missing = (requestedAddresses(config.runtimeConfig) ?? []).filter(
    (address) => !given.includes(address),
  );
  if (missing.length > 0)
    throw new CniError(
      cniErrorCode.addressNotGiven,
      `the pod asks for ${missing.join(' and ')} and has ${given.join(' and ') || 'no address'}: make it anew`,
    );
  return callDelegate(ask, config, delegateConfig(config));
}
