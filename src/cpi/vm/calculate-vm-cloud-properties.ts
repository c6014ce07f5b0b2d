import type { CallContext } from '../call.ts';
import type { CalculateVmCloudPropertiesRequest } from '../protocol/methods.ts';
import { type Location, child, positiveIntegerAt, rejectUnknownKeys } from '../input.ts';

/** cloud_properties that create_vm turns into requests of exactly these amounts: cores, MiB, MiB. */
export interface CalculatedProperties {
  readonly cpu: number;
  readonly memory: number;
  readonly ephemeral_disk: { readonly size: number };
}

/**
 * calculate_vm_cloud_properties({ram MiB, cpu cores, ephemeral_disk_size MiB}): returns the cloud_properties
 * of a VM of that size. Sends no request. Each key is at the top level, so that a VM extension can override
 * one and keep the others.
 */
export async function calculateVmCloudProperties(
  _cloud: CallContext,
  { requirements }: CalculateVmCloudPropertiesRequest,
): Promise<CalculatedProperties> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'calculate_vm_cloud_properties' };
  rejectUnknownKeys(requirements, ['ram', 'cpu', 'ephemeral_disk_size'], place);
  return Promise.resolve({
    cpu: positiveIntegerAt(requirements['cpu'], child(place, 'cpu')),
    memory: positiveIntegerAt(requirements['ram'], child(place, 'ram')),
    ephemeral_disk: {
      size: positiveIntegerAt(requirements['ephemeral_disk_size'], child(place, 'ephemeral_disk_size')),
    },
  });
}
