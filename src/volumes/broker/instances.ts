import { isDeepStrictEqual } from 'node:util';
import { badRequest, type BrokerResponse, errorResponse } from './response.ts';
import type { Offering } from './offerings/offering.ts';
import { mergeOver, parseOptions, withoutSecrets, withSpacePrefix } from './offerings/option-table.ts';
import type { BindingView, InstanceRecord, InstanceView, StoreUpdate } from './store/broker-store.ts';
import type { ParseResult, ProvisionRequest, UpdateRequest } from './request.ts';

/** Returns the record for the PUT of an instance. `rejectForcedOptions` may still reject a new instance. */
export function instanceFromRequest(id: string, request: ProvisionRequest): ParseResult<InstanceRecord> {
  const { offering, organizationGuid, spaceGuid, parameters } = request;
  const conflict = maintenanceConflict(offering, request.maintenanceVersion);
  if (conflict !== undefined) return { error: conflict };
  const parsed = parseOptions(offering.table, parameters, 'provision', {});
  if ('description' in parsed) return { error: badRequest(parsed.description) };
  const placed = withSpacePrefix(offering.table, parsed.options, spaceGuid);
  if ('description' in placed) return { error: badRequest(placed.description) };
  const { options } = placed;
  const ids = { id, serviceId: offering.id, planId: offering.plan.id };
  return { request: { ...ids, organizationGuid, spaceGuid, provisioned: options, options } };
}

/**
 * Rejects options that the operator forces. It is only for new instances: an existing one may have them from
 * an earlier time.
 */
export function rejectForcedOptions({ offering, parameters }: ProvisionRequest): BrokerResponse | undefined {
  const parsed = parseOptions(offering.table, parameters, 'provision', offering.operator.forced);
  return 'description' in parsed ? badRequest(parsed.description) : undefined;
}

/** Creates the instance. The same PUT again gets 200; another PUT with that id gets 409. */
export function provision(
  { instance }: BindingView,
  planned: InstanceRecord,
  request: ProvisionRequest,
): StoreUpdate {
  if (instance === undefined) {
    const refused = rejectForcedOptions(request);
    return refused ? { answer: refused } : { answer: { status: 201, body: {} }, instance: planned };
  }
  // Compares with the original options: a repeated PUT must succeed even after an update.
  const { migrated: _migrated, operation: _operation, ...stored } = instance;
  const isSame = isDeepStrictEqual({ ...stored, options: planned.options }, planned);
  if (isSame) return { answer: { status: 200, body: {} } };
  const description = `service instance ${planned.id} exists with other attributes; use another id`;
  return { answer: errorResponse(409, 'Conflict', description) };
}

/** Returns an error if the request names another maintenance version of the plan than the catalog has. */
function maintenanceConflict(
  { maintenance, name }: Offering,
  version: string | undefined,
): BrokerResponse | undefined {
  if (version === undefined || version === maintenance?.version) return undefined;
  const has = maintenance === undefined ? 'no maintenance_info' : `version ${maintenance.version}`;
  const description = `maintenance_info does not match the plan of ${name}, which has ${has}; fetch the catalog again`;
  return errorResponse(422, 'MaintenanceInfoConflict', description);
}

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
  const { operation: _, ...completed } = instance;
  return {
    answer: { status: 200, body: {} },
    instance: { ...completed, options: mergeOver(table, instance.options, placed.options) },
  };
}

/** Returns the response to a poll for the last operation on an instance. */
export function lastInstanceOperation({ instance }: BindingView, id: string): BrokerResponse {
  const kind = instance?.operation?.kind;
  if (kind === undefined) return lastOperation(instance !== undefined, `service instance ${id}`);
  const verb = kind === 'update' ? 'update' : 'create';
  return {
    status: 200,
    body: {
      state: 'failed',
      description: `an earlier version of the broker did not complete the ${verb} of service instance ${id}; ${verb} it again`,
      ...(kind === 'update' ? { instance_usable: true, update_repeatable: true } : {}),
    },
  };
}

/** Returns the state of the last operation on an object. Every operation has ended when its request has. */
export function lastOperation(exists: boolean, object: string): BrokerResponse {
  if (exists) return { status: 200, body: { state: 'succeeded' } };
  return errorResponse(404, 'NotFound', `there is no ${object}`);
}

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
