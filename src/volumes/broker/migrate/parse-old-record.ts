import type { Offering } from '../offerings/offering.ts';
import type { JsonObject } from '../../../platform/fields.ts';
import { isObject } from '../../../platform/fields.ts';
import type { OptionScope } from '../options/option-table.ts';
import { parseOptions } from '../options/parse-options.ts';
import type { InstanceRecord } from '../store/record.ts';

/** A record to store, or the reason why it cannot be imported. The reason quotes no value. */
export type LegacyRecordResult = { readonly record: InstanceRecord } | { readonly fault: string };

/**
 * Parses a record that nfsbroker or smbbroker keeps in CredHub under an id. It is an instance, or a binding,
 * which names no instance.
 */
export function parseOldRecord(
  id: string,
  value: unknown,
  offerings: readonly Offering[],
): LegacyRecordResult {
  if (!/^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,254}$/u.test(id)) return { fault: 'its name is no id of OSBAPI' };
  if (!isObject(value)) return { fault: 'it is no JSON object' };
  const text = (name: string): string => (typeof value[name] === 'string' ? value[name] : '');
  const offering = offerings.find((candidate) => candidate.id === text('service_id'));
  if (offering === undefined) return { fault: 'service_id names no offering of the configuration' };
  const ids = {
    id,
    serviceId: offering.id,
    planId: text('plan_id'),
    organizationGuid: text('organization_guid'),
    spaceGuid: text('space_guid'),
  };
  if (ids.planId !== offering.plan.id) return { fault: `plan_id names no plan of ${offering.name}` };
  if (Object.hasOwn(value, 'ServiceFingerPrint')) {
    const print = value['ServiceFingerPrint'];
    const parameters = typeof print === 'string' ? { share: print } : print;
    return withOptions(offering, parameters, 'provision', (options, given) => ({
      ...ids,
      provisioned: options,
      options,
      migrated: { kind: 'instance', given },
    }));
  }
  const resource = value['bind_resource'];
  const ofResource = isObject(resource) ? resource['app_guid'] : undefined;
  const appGuid = text('app_guid') || (typeof ofResource === 'string' ? ofResource : '');
  if (appGuid === '') return { fault: 'it is neither an instance nor a binding to an app' };
  return withOptions(offering, value['parameters'] ?? {}, 'bind', (options, given) => ({
    ...ids,
    provisioned: options,
    options,
    migrated: { kind: 'binding', given, appGuid, isJoined: false },
  }));
}

function withOptions(
  { table }: Offering,
  parameters: unknown,
  place: OptionScope,
  recordOf: (options: InstanceRecord['options'], given: Record<string, string>) => InstanceRecord,
): LegacyRecordResult {
  if (!isObject(parameters)) return { fault: 'its parameters are no JSON object' };
  // The old brokers kept unknown option names, so an option that is valid only below a space is left out
  // here. No option is forced: a user may have set an option that the operator forces today.
  const known = table.filter(({ isSpaceScoped }) => isSpaceScoped !== true);
  const parsed = parseOptions(known, parameters, place, {});
  if ('description' in parsed) return { fault: parsed.description.replaceAll('\n', ' ') };
  return { record: recordOf(parsed.options, stringifyValues(parameters)) };
}

/**
 * Converts values to strings as the old brokers did. Values of other types were rejected by the option table.
 */
const stringifyValues = (parameters: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
