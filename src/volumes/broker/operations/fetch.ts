import { parseSecretReference } from '../../signature/secret-reference.ts';
import type { Answer } from '../http/answer.ts';
import { refusal } from '../http/answer.ts';
import type { Offering } from '../offerings/offering.ts';
import { withoutSecrets } from '../options/parse-options.ts';
import type { BindingTarget, View } from '../store/broker-store.ts';

/**
 * An instance as its users may see it: Cloud Controller shows them what a fetch answers, so no secret is in
 * it (reference volume-services.md 1.9).
 */
export function fetchInstance({ instance }: View, id: string, offerings: readonly Offering[]): Answer {
  const offering = offerings.find((candidate) => candidate.id === instance?.serviceId);
  if (instance === undefined || offering === undefined)
    return refusal(404, 'NotFound', `there is no service instance ${id}`);
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
  { binding }: View,
  { instanceId, bindingId }: BindingTarget,
  offerings: readonly Offering[],
): Answer {
  const offering = offerings.find((candidate) => candidate.id === binding?.serviceId);
  if (binding === undefined || binding.instanceId !== instanceId || offering === undefined)
    return refusal(404, 'NotFound', `there is no service binding ${bindingId} of instance ${instanceId}`);
  const { options, volumeMount } = binding;
  const { volume_id: volumeId, mount_config: config } = volumeMount.device;
  const secret = offering.table
    .filter(({ isSecret }) => isSecret === true)
    .map(({ mountOption }) => mountOption);
  const shown = Object.entries(config).filter(
    ([name, value]) => !secret.includes(name) || parseSecretReference(value) !== undefined,
  );
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

/** The state of a change: everything is done by the time that it is answered. */
export function lastOperation(exists: boolean, what: string): Answer {
  return exists
    ? { status: 200, body: { state: 'succeeded' } }
    : refusal(404, 'NotFound', `there is no ${what}`);
}
