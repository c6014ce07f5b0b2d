import { speaksNats } from '../../bosh/stemcell/stemcell.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { AgentConfig } from '../config/config.ts';
import type { Json } from '../input.ts';

/**
 * Rejects a stemcell with an early agent of this project if the agents are reached by NATS, as they are by a
 * director: that agent answers by HTTPS only, so a deployment would wait in vain for its first VM.
 * AGENT_NOT_SUPPORTED.
 */
export function refuseOwnAgent(properties: Json, { mbus = '' }: AgentConfig): void {
  if (speaksNats(properties) || !/^nats:/iu.test(mbus)) return;
  throw new ProductError(
    'AGENT_NOT_SUPPORTED',
    "The stemcell's cloud_properties say 'agent: bosh-kubernetes' without 'agent_bus: nats': that agent answers by HTTPS alone, and " +
      "the CPI's property agent.mbus is a NATS URL, by which a director speaks to its VMs, so no VM of this stemcell would answer; " +
      "build the stemcell again with this version of 'bosh-kubernetes stemcell build'",
  );
}
