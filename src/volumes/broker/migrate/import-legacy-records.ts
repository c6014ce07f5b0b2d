import type { Offering } from '../offerings/offering.ts';
import { importedRecordKey } from './attach-imported-binding.ts';
import type { BrokerStore, InstanceRecord } from '../store/broker-store.ts';
import type { CredhubClient } from '../../credhub/credhub-client.ts';
import { isObject, type JsonObject } from '../../../platform/json.ts';
import { type OptionScope, parseOptions } from '../offerings/option-table.ts';

/** The result of importing the records of one old broker. */
interface MigrationResult {
  readonly instances: number;
  readonly bindings: number;
  /** Records that an earlier run imported, or that the new broker created. */
  readonly alreadyImported: number;
  /** Records that were not imported and stay with the old broker, with the reason. */
  readonly skipped: readonly { readonly name: string; readonly problem: string }[];
}

/** The marker record that migrate_mysql_to_credhub wrote. */
const sqlMigrationMarker = 'migrated-from-sql';

/**
 * Imports the records that an old broker keeps in CredHub below `/<storeId>`. The old records are only read,
 * never changed. The store remembers each imported record, so that a record that has been deleted since does
 * not come back in a later run.
 */
export async function migrateRecords(
  from: { readonly client: CredhubClient; readonly storeId: string },
  to: { readonly store: BrokerStore; readonly offerings: readonly Offering[] },
): Promise<MigrationResult> {
  const path = `/${from.storeId}`;
  const counts = { instances: 0, bindings: 0, alreadyImported: 0 };
  const skipped: { name: string; problem: string }[] = [];
  for (const name of (await from.client.list(path)).toSorted()) {
    const id = name.slice(path.length + 1);
    // names with another slash belong to the new broker
    if (id.includes('/') || id === sqlMigrationMarker) continue;
    const parsed = parseLegacyRecord(id, await from.client.get(name), to.offerings);
    if ('problem' in parsed) skipped.push({ name, problem: parsed.problem });
    else counts[await importRecord(to.store, parsed.record)] += 1;
  }
  return { ...counts, skipped };
}

async function importRecord(
  store: BrokerStore,
  record: InstanceRecord,
): Promise<'instances' | 'bindings' | 'alreadyImported'> {
  const { id, migrated } = record;
  const remembered = { instanceId: importedRecordKey(id) };
  if ((await store.read(remembered)).instance !== undefined) return 'alreadyImported';
  let isPresent = false;
  const answer = { status: 200, body: {} };
  if (migrated?.kind === 'instance')
    await store.change({ instanceId: id }, ({ instance }) => {
      isPresent = instance !== undefined;
      return { answer, ...(isPresent ? {} : { instance: record }) };
    });
  await store.change(remembered, () => ({ answer, instance: { ...record, id: importedRecordKey(id) } }));
  if (isPresent) return 'alreadyImported';
  return migrated?.kind === 'instance' ? 'instances' : 'bindings';
}

/** A record to store, or the reason why it cannot be imported. The reason quotes no value. */
type LegacyRecordResult = { readonly record: InstanceRecord } | { readonly problem: string };

/**
 * Parses a record that nfsbroker or smbbroker keeps in CredHub under an id. It is an instance, or a binding,
 * which names no instance.
 */
function parseLegacyRecord(id: string, value: unknown, offerings: readonly Offering[]): LegacyRecordResult {
  if (!/^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,254}$/u.test(id))
    return { problem: 'its name is not an id of OSBAPI' };
  if (!isObject(value)) return { problem: 'it is not a JSON object' };
  const text = (name: string): string => (typeof value[name] === 'string' ? value[name] : '');
  const offering = offerings.find((candidate) => candidate.id === text('service_id'));
  if (offering === undefined) return { problem: 'service_id names no offering of the configuration' };
  const ids = {
    id,
    serviceId: offering.id,
    planId: text('plan_id'),
    organizationGuid: text('organization_guid'),
    spaceGuid: text('space_guid'),
  };
  if (ids.planId !== offering.plan.id) return { problem: `plan_id names no plan of ${offering.name}` };
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
  if (appGuid === '') return { problem: 'it is neither an instance nor a binding to an app' };
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
  scope: OptionScope,
  recordOf: (options: InstanceRecord['options'], given: Record<string, string>) => InstanceRecord,
): LegacyRecordResult {
  if (!isObject(parameters)) return { problem: 'its parameters are not a JSON object' };
  // The old brokers kept unknown option names, so an option that is valid only below a space is left out
  // here. No option is forced: a user may have set an option that the operator forces today.
  const known = table.filter(({ isSpaceScoped }) => isSpaceScoped !== true);
  const parsed = parseOptions(known, parameters, scope, {});
  if ('description' in parsed) return { problem: parsed.description.replaceAll('\n', ' ') };
  return { record: recordOf(parsed.options, stringifyValues(parameters)) };
}

/**
 * Converts values to strings as the old brokers did. Values of other types were rejected by the option table.
 */
const stringifyValues = (parameters: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
