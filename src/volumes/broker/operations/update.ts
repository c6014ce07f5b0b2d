import { badRequest, errorResponse } from '../http/answer.ts';
import { withSpacePrefix, mergeOver, parseOptions } from '../options/parse-options.ts';
import type { StoreUpdate, BindingView } from '../store/broker-store.ts';
import { maintenanceConflict } from './provision.ts';
import type { UpdateRequest } from './request.ts';

/**
 * Changes the options of an instance for later bindings. Existing bindings keep their options. Options that
 * are not in the parameters stay.
 */
export function update({ instance }: BindingView, id: string, request: UpdateRequest): StoreUpdate {
  const { offering, parameters } = request;
  if (instance === undefined)
    return { answer: errorResponse(404, 'NotFound', `there is no service instance ${id}`) };
  if (instance.serviceId !== offering.id)
    return { answer: badRequest(`service instance ${id} is not of service ${offering.name}`) };
  const conflict = maintenanceConflict(offering, request.maintenanceVersion);
  if (conflict !== undefined) return { answer: conflict };
  const { table, operator } = offering;
  // treat the current share as if the user had sent it
  const share = instance.options['share'];
  const whole =
    Object.hasOwn(parameters, 'share') || share === undefined ? parameters : { ...parameters, share };
  const parsed = parseOptions(table, whole, 'provision', operator.forced);
  if ('description' in parsed) return { answer: badRequest(parsed.description) };
  const placed = withSpacePrefix(table, parsed.options, instance.spaceGuid);
  if ('description' in placed) return { answer: badRequest(placed.description) };
  return {
    answer: { status: 200, body: {} },
    instance: { ...instance, options: mergeOver(table, instance.options, placed.options) },
  };
}
