import type { CallContext } from '../call.ts';
import type { CalculateVmCloudPropertiesRequest } from '../protocol/methods.ts';
import { quantityRange } from '../../kubernetes/types/quantity.ts';
import { Field } from '../../platform/field.ts';

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
  _call: CallContext,
  { requirements }: CalculateVmCloudPropertiesRequest,
): Promise<CalculatedProperties> {
  const sizes = new Field(requirements, 'calculate_vm_cloud_properties', 'INVALID_ARGUMENT');
  sizes.rejectUnknownKeys(['ram', 'cpu', 'ephemeral_disk_size']);
  return Promise.resolve({
    cpu: sizes.get('cpu').integer(quantityRange),
    memory: sizes.get('ram').integer(quantityRange),
    ephemeral_disk: { size: sizes.get('ephemeral_disk_size').integer(quantityRange) },
  });
}
