import { isDeepStrictEqual } from 'node:util';
import type { BrokerResponse } from '../http/answer.ts';
import { badRequest, errorResponse } from '../http/answer.ts';
import type { Offering } from '../offerings/offering.ts';
import { withSpacePrefix, parseOptions } from '../options/parse-options.ts';
import type { StoreUpdate, BindingView } from '../store/broker-store.ts';
import type { InstanceRecord } from '../store/record.ts';
import type { ParseResult, ProvisionRequest } from './request.ts';

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
  const { migrated: _, ...stored } = instance;
  const isSame = isDeepStrictEqual({ ...stored, options: planned.options }, planned);
  if (isSame) return { answer: { status: 200, body: {} } };
  const description = `service instance ${planned.id} exists with other attributes; use another id`;
  return { answer: errorResponse(409, 'Conflict', description) };
}

/** Returns an error if the request names another maintenance version of the plan than the catalog has. */
export function maintenanceConflict(
  { maintenance, name }: Offering,
  version: string | undefined,
): BrokerResponse | undefined {
  if (version === undefined || version === maintenance?.version) return undefined;
  const has = maintenance === undefined ? 'none' : `version ${maintenance.version}`;
  const description = `maintenance_info asks for another version than the plan of ${name} has, which is ${has}; fetch the catalog again`;
  return errorResponse(422, 'MaintenanceInfoConflict', description);
}
