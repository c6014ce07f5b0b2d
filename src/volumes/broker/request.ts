import { type JsonObject, isObject } from '../../platform/json.ts';
import { Fields } from '../../platform/fields.ts';
import type { Offering } from './offerings/offering.ts';
import type { BrokerResponse } from './response.ts';
import { badRequest } from './response.ts';

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
  /** The space of the app, if the platform sends it. An instance can be shared into another space. */
  readonly spaceGuid: string | undefined;
  /**
   * The org of `spaceGuid`, if known. The org in the context may belong to the space of the instance, which
   * can be another one.
   */
  readonly organizationGuid: string | undefined;
  readonly predecessorBindingId: string | undefined;
  readonly parameters: JsonObject;
}

export type ParseResult<T> = { readonly request: T } | { readonly error: BrokerResponse };

const maxStringLength = 255;

/** Parses PUT /v2/service_instances/:id. */
export function parseProvision(body: unknown, offerings: readonly Offering[]): ParseResult<ProvisionRequest> {
  return parseWith(body, offerings, true, (fields) => ({
    organizationGuid: fields.text('organization_guid'),
    spaceGuid: fields.text('space_guid'),
    parameters: fields.map('parameters'),
    maintenanceVersion: maintenanceVersionOf(fields),
  }));
}

/** Parses PATCH /v2/service_instances/:id. */
export function parseUpdate(body: unknown, offerings: readonly Offering[]): ParseResult<UpdateRequest> {
  return parseWith(body, offerings, false, (fields) => ({
    parameters: fields.map('parameters'),
    maintenanceVersion: maintenanceVersionOf(fields),
  }));
}

/** Parses PUT /v2/service_instances/:id/service_bindings/:id. */
export function parseBind(body: unknown, offerings: readonly Offering[]): ParseResult<BindRequest> {
  return parseWith(body, offerings, true, (fields) => {
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

/** Parses the query of a DELETE, which must name service and plan. */
export function parseDeletion(
  query: JsonObject,
  offerings: readonly Offering[],
): ParseResult<{ readonly offering: Offering }> {
  return parseWith(query, offerings, true, () => ({}));
}

/** Parses a request. One response lists all errors. A PATCH need not name the plan. */
function parseWith<T>(
  body: unknown,
  offerings: readonly Offering[],
  needsPlan: boolean,
  read: (fields: Fields) => T,
): ParseResult<T & { readonly offering: Offering }> {
  if (!isObject(body)) return { error: badRequest('the body must be one JSON object') };
  const problems: string[] = [];
  const fields = new Fields(body, '', problems, maxStringLength);
  const offering = findOffering(fields, offerings, needsPlan);
  const rest = read(fields);
  if (problems.length > 0 || offering === undefined)
    return { error: badRequest(problems.toSorted().join('; ')) };
  return { request: { ...rest, offering } };
}

/** Returns the offering of service_id. The plan must belong to it; a PATCH may omit the plan. */
function findOffering(
  fields: Fields,
  offerings: readonly Offering[],
  needsPlan: boolean,
): Offering | undefined {
  const serviceId = fields.text('service_id');
  const planId = needsPlan ? fields.text('plan_id') : fields.optionalText('plan_id');
  const offering = offerings.find(({ id }) => id === serviceId);
  if (offering === undefined) {
    if (serviceId !== '') fields.report('service_id', 'is not in the catalog');
  } else if (planId !== undefined && planId !== '' && planId !== offering.plan.id) {
    fields.report('plan_id', `is not a plan of service ${offering.name}`);
  }
  return offering;
}

const maintenanceVersionOf = (fields: Fields): string | undefined =>
  fields.nested('maintenance_info').optionalText('version');
