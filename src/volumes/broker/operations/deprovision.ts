import { badRequest } from '../http/answer.ts';
import type { Offering } from '../offerings/offering.ts';
import type { StoreUpdate, InstanceView } from '../store/broker-store.ts';

const shownBindings = 20;

/** Deletes an instance that has no bindings. Does not touch the file server. */
export function deprovision(
  { instance, bindingIds }: InstanceView,
  id: string,
  offering: Offering,
): StoreUpdate {
  if (instance === undefined) return { answer: { status: 410, body: {} } };
  if (instance.serviceId !== offering.id)
    return { answer: badRequest(`service instance ${id} is not of service ${offering.name}`) };
  if (bindingIds.length > 0) {
    const more = bindingIds.length - shownBindings;
    const shown = `${bindingIds.slice(0, shownBindings).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return { answer: badRequest(`service instance ${id} still has bindings: ${shown}; delete them first`) };
  }
  return { answer: { status: 200, body: {} }, instance: null };
}
