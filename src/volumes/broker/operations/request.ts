import type { Offering } from '../offerings/offering.ts';
import type { Answer } from '../http/answer.ts';
import { invalid } from '../http/answer.ts';

/** A JSON object that came from outside. */
export type JsonObject = Readonly<Record<string, unknown>>;

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
  readonly organizationGuid: string | undefined;
  readonly predecessorBindingId: string | undefined;
  readonly parameters: JsonObject;
}

export type Parsed<T> = { readonly request: T } | { readonly refused: Answer };

/** Reads PUT /v2/service_instances/:id. */
export function parseProvision(body: unknown, offerings: readonly Offering[]): Parsed<ProvisionRequest> {
  return parsed(body, offerings, true, (fields) => ({
    organizationGuid: fields.needed('organization_guid'),
    spaceGuid: fields.needed('space_guid'),
    parameters: fields.object('parameters'),
    maintenanceVersion: maintenanceVersionOf(fields),
  }));
}

/** Reads PATCH /v2/service_instances/:id. */
export function parseUpdate(body: unknown, offerings: readonly Offering[]): Parsed<UpdateRequest> {
  return parsed(body, offerings, false, (fields) => ({
    parameters: fields.object('parameters'),
    maintenanceVersion: maintenanceVersionOf(fields),
  }));
}

/** Reads PUT /v2/service_instances/:id/service_bindings/:id. */
export function parseBind(body: unknown, offerings: readonly Offering[]): Parsed<BindRequest> {
  return parsed(body, offerings, true, (fields) => {
    const resource = fields.nested('bind_resource');
    const context = fields.nested('context');
    return {
      appGuid: fields.optional('app_guid') ?? resource.optional('app_guid'),
      spaceGuid: resource.optional('space_guid') ?? context.optional('space_guid'),
      organizationGuid: context.optional('organization_guid'),
      predecessorBindingId: fields.optional('predecessor_binding_id'),
      parameters: fields.object('parameters'),
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
  const fields = new Fields(body, '', faults);
  const offering = offeringOf(fields, offerings, needsPlan);
  const rest = read(fields);
  if (faults.length > 0 || offering === undefined) return { refused: invalid(faults.toSorted().join('; ')) };
  return { request: { ...rest, offering } };
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const longestId = 255;

/** Reads fields of one object and collects what is wrong with them. */
class Fields {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #faults: string[];

  constructor(object: JsonObject, path: string, faults: string[]) {
    this.#object = object;
    this.#path = path;
    this.#faults = faults;
  }

  fault(name: string, what: string): void {
    this.#faults.push(`${this.#path}${name} ${what}`);
  }

  /** '' where it is missing or wrong, which is then a fault. */
  needed(name: string): string {
    const value = this.#own(name);
    if (value === undefined) this.fault(name, 'is missing');
    return this.optional(name) ?? '';
  }

  optional(name: string): string | undefined {
    const value = this.#own(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '' && value.length <= longestId) return value;
    this.fault(name, `must be a text of 1 to ${longestId} characters`);
    return undefined;
  }

  /** Empty where it is missing. */
  object(name: string): JsonObject {
    const value = this.#own(name);
    if (value === undefined) return {};
    if (isObject(value)) return value;
    this.fault(name, 'must be a JSON object');
    return {};
  }

  nested(name: string): Fields {
    return new Fields(this.object(name), `${this.#path}${name}.`, this.#faults);
  }

  /** A null is no value. */
  #own(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }
}

/** The offering that service_id names; a plan, which may be left out of a PATCH, has to be its own. */
function offeringOf(
  fields: Fields,
  offerings: readonly Offering[],
  needsPlan: boolean,
): Offering | undefined {
  const serviceId = fields.needed('service_id');
  const planId = needsPlan ? fields.needed('plan_id') : fields.optional('plan_id');
  const offering = offerings.find(({ id }) => id === serviceId);
  if (offering === undefined) {
    if (serviceId !== '') fields.fault('service_id', 'is none of the catalog');
  } else if (planId !== undefined && planId !== '' && planId !== offering.plan.id) {
    fields.fault('plan_id', `is none of service ${offering.name}`);
  }
  return offering;
}

const maintenanceVersionOf = (fields: Fields): string | undefined =>
  fields.nested('maintenance_info').optional('version');
