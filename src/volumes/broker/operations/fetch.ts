import { parseSecretReference } from '../../signature/secret-reference.ts';
import type { BrokerResponse } from '../http/answer.ts';
import { errorResponse } from '../http/answer.ts';
import type { Offering } from '../offerings/offering.ts';
import { withoutSecrets } from '../options/parse-options.ts';
import type { BindingTarget, BindingView } from '../store/broker-store.ts';
import type { BindingRecord } from '../store/record.ts';

/**
 * An instance as its users may see it: Cloud Controller shows them what a fetch answers, so no secret is in
 * it.
 */
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

/** A binding as users may see it: its mount is without the secret options. */
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

/** Whether a fetch of the binding has less than the answer to its bind. */
export const hasSecretOptions = (offering: Offering, binding: BindingRecord): boolean =>
  secretOptionNames(offering, binding).length > 0;

/** Names of what nobody may see in a mount; a reference to a secret is none. */
function secretOptionNames({ table }: Offering, { volumeMount }: BindingRecord): string[] {
  const secret = table
    .filter(({ isSecret }) => isSecret === true)
    .map(({ mountConfigKey }) => mountConfigKey);
  return Object.entries(volumeMount.device.mount_config)
    .filter(([name, value]) => secret.includes(name) && parseSecretReference(value) === undefined)
    .map(([name]) => name);
}
