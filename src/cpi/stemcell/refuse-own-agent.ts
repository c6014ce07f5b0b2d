import { hasEmbeddedAgent } from '../../bosh/stemcell/stemcell.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { AgentConfig } from '../config/config.ts';
import type { JsonObject } from '../../platform/json.ts';

/**
 * Rejects a stemcell with this project's agent if the agents are reached by NATS, as they are by a director:
 * this agent answers by HTTPS only, so a deployment of that stemcell would wait in vain for its first VM.
 * AGENT_NOT_SUPPORTED.
 */
export function refuseOwnAgent(properties: JsonObject, { mbus = '' }: AgentConfig): void {
  if (!hasEmbeddedAgent(properties) || !/^nats:/iu.test(mbus)) return;
  throw new ProductError(
    'AGENT_NOT_SUPPORTED',
    "The stemcell's cloud_properties say 'agent: bosh-kubernetes': that agent answers by HTTPS alone, and the CPI's property agent.mbus " +
      'is a NATS URL, by which a director speaks to its VMs, so no VM of this stemcell would answer; use a stemcell with ' +
      "upstream's agent: a stock one for containers, or one of 'bosh-kubernetes stemcell build --from-debian " +
      "--profile privileged --agent FILE --monit FILE --davcli FILE'",
  );
}
