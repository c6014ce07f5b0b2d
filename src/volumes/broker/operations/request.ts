import type { JsonObject } from '../../../platform/fields.ts';
import { Fields, isObject } from '../../../platform/fields.ts';
import type { Offering } from '../offerings/offering.ts';
import type { Answer } from '../http/answer.ts';
import { invalid } from '../http/answer.ts';

export interface ProvisionRequest {
  readonly offering: Offering;
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  readonly parameters: JsonObject;
  readonly maintenanceVersion: string | undefined;
}

export interface UpdateRequest {
  readonly offering: Offering;
  readonly parameters: JsonObject;
  readonly maintenanceVersion: string | undefined;
}

export interface BindRequest {
  readonly offering: Offering;
  readonly appGuid: string | undefined;
  /** Of the app, where the platform says it: an instance can be shared into another space. */
  readonly spaceGuid: string | undefined;
  /** Of that space, where the platform says it: the context may be that of the instance. */
  readonly organizationGuid: string | undefined;
  readonly predecessorBindingId: string | undefined;
  readonly parameters: JsonObject;
}

export type Parsed<T> = { readonly request: T } | { readonly refused: Answer };

const longestText = 255;

/** Reads PUT /v2/service_instances/:id. */
export function parseProvision(body: unknown, offerings: readonly Offering[]): Parsed<ProvisionRequest> {
  return parsed(body, offerings, true, (fields) => ({
    organizationGuid: fields.text('organization_guid'),
    spaceGuid: fields.text('space_guid'),
    parameters: fields.map('parameters'),
    maintenanceVersion: maintenanceVersionOf(fields),
  }));
}

/** Reads PATCH /v2/service_instances/:id. */
export function parseUpdate(body: unknown, offerings: readonly Offering[]): Parsed<UpdateRequest> {
  return parsed(body, offerings, false, (fields) => ({
    parameters: fields.map('parameters'),
    maintenanceVersion: maintenanceVersionOf(fields),
  }));
}

/** Reads PUT /v2/service_instances/:id/service_bindings/:id. */
export function parseBind(body: unknown, offerings: readonly Offering[]): Parsed<BindRequest> {
  return parsed(body, offerings, true, (fields) => {
    const resource = fields.nested('bind_resource');
    const context = fields.nested('context');
    const contextSpace = context.optionalText('space_guid');
    const contextOrganization = context.optionalText('organization_guid');
    const spaceGuid = resource.optionalText('space_guid') ?? contextSpace;
    return {
      appGuid: fields.optionalText('app_guid') ?? resource.optionalText('app_guid'),
      spaceGuid,
      organizationGuid: spaceGuid === contextSpace ? contextOrganization : undefined,
      predecessorBindingId: fields.optionalText('predecessor_binding_id'),
      parameters: fields.map('parameters'),
    };
  });
}

/** Reads the query of a DELETE, which has to name service and plan. */
export function parseDeletion(
  query: JsonObject,
  offerings: readonly Offering[],
): Parsed<{ readonly offering: Offering }> {
  return parsed(query, offerings, true, () => ({}));
}

/** All faults are in one answer. A PATCH need not name the plan. */
function parsed<T>(
  body: unknown,
  offerings: readonly Offering[],
  needsPlan: boolean,
  read: (fields: Fields) => T,
): Parsed<T & { readonly offering: Offering }> {
  if (!isObject(body)) return { refused: invalid('the body must be one JSON object') };
  const faults: string[] = [];
  const fields = new Fields(body, '', faults, longestText);
  const offering = offeringOf(fields, offerings, needsPlan);
  const rest = read(fields);
  if (faults.length > 0 || offering === undefined) return { refused: invalid(faults.toSorted().join('; ')) };
  return { request: { ...rest, offering } };
}

/** The offering that service_id names; a plan, which may be left out of a PATCH, has to be its own. */
function offeringOf(
  fields: Fields,
  offerings: readonly Offering[],
  needsPlan: boolean,
): Offering | undefined {
  const serviceId = fields.text('service_id');
  const planId = needsPlan ? fields.text('plan_id') : fields.optionalText('plan_id');
  const offering = offerings.find(({ id }) => id === serviceId);
  if (offering === undefined) {
    if (serviceId !== '') fields.fault('service_id', 'is none of the catalog');
  } else if (planId !== undefined && planId !== '' && planId !== offering.plan.id) {
    fields.fault('plan_id', `is none of service ${offering.name}`);
  }
  return offering;
}

const maintenanceVersionOf = (fields: Fields): string | undefined =>
  fields.nested('maintenance_info').optionalText('version');
