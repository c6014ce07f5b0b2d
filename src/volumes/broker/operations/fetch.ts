import { parseSecretReference } from '../../signature/secret-reference.ts';
import type { BrokerResponse } from '../http/answer.ts';
import { errorResponse } from '../http/answer.ts';
import type { Offering } from '../offerings/offering.ts';
import { withoutSecrets } from '../options/parse-options.ts';
import type { BindingTarget, BindingView } from '../store/broker-store.ts';
import type { BindingRecord } from '../store/record.ts';

/** Returns an instance without its secrets, because Cloud Controller shows the response to users. */
export function fetchInstance(
  { instance }: BindingView,
  id: string,
  offerings: readonly Offering[],
): BrokerResponse {
  const offering = offerings.find((candidate) => candidate.id === instance?.serviceId);
  if (instance === undefined || offering === undefined)
    return errorResponse(404, 'NotFound', `there is no service instance ${id}`);
  const { serviceId, planId, options } = instance;
  const { table, maintenance } = offering;
  return {
    status: 200,
    body: {
      service_id: serviceId,
      plan_id: planId,
      parameters: withoutSecrets(table, options),
      ...(maintenance === undefined ? {} : { maintenance_info: maintenance }),
    },
  };
}

/** Returns a binding without its secrets; its mount has no secret options either. */
export function fetchBinding(
  { binding }: BindingView,
  { instanceId, bindingId }: BindingTarget,
  offerings: readonly Offering[],
): BrokerResponse {
  const offering = offerings.find((candidate) => candidate.id === binding?.serviceId);
  if (binding === undefined || binding.instanceId !== instanceId || offering === undefined)
    return errorResponse(
      404,
      'NotFound',
      `there is no service binding ${bindingId} of instance ${instanceId}`,
    );
  const { options, volumeMount } = binding;
  const { volume_id: volumeId, mount_config: config } = volumeMount.device;
  const secret = secretOptionNames(offering, binding);
  const shown = Object.entries(config).filter(([name]) => !secret.includes(name));
  const device = { volume_id: volumeId, mount_config: Object.fromEntries(shown) };
  return {
    status: 200,
    body: {
      credentials: {},
      volume_mounts: [{ ...volumeMount, device }],
      parameters: withoutSecrets(offering.table, options),
    },
  };
}

/** Returns true if a fetch of the binding contains less than the response to its bind. */
export const hasSecretOptions = (offering: Offering, binding: BindingRecord): boolean =>
  secretOptionNames(offering, binding).length > 0;

/** Returns the names of the mount options that are secret. A reference to a secret is not secret. */
function secretOptionNames({ table }: Offering, { volumeMount }: BindingRecord): string[] {
  const secret = table
    .filter(({ isSecret }) => isSecret === true)
    .map(({ mountConfigKey }) => mountConfigKey);
  return Object.entries(volumeMount.device.mount_config)
    .filter(([name, value]) => secret.includes(name) && parseSecretReference(value) === undefined)
    .map(([name]) => name);
}
