import { badRequest } from '../http/answer.ts';
import type { Offering } from '../offerings/offering.ts';
import type { BindingTarget, StoreUpdate, BindingView } from '../store/broker-store.ts';

/** Deletes a binding. If a cell has its volume mounted, the volume stays mounted until the app stops. */
export function unbind(
  { binding }: BindingView,
  { instanceId, bindingId }: BindingTarget,
  offering: Offering,
): StoreUpdate {
  if (binding === undefined || binding.instanceId !== instanceId)
    return { answer: { status: 410, body: {} } };
  if (binding.serviceId !== offering.id)
    return { answer: badRequest(`service binding ${bindingId} is not of service ${offering.name}`) };
  return { answer: { status: 200, body: {} }, binding: null };
}
