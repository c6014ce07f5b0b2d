import type { Offering } from '../offerings/offering.ts';
import { importedRecordKey } from '../operations/join-migrated-binding.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { CredhubClient } from '../../credhub/credhub-client.ts';
import type { InstanceRecord } from '../store/record.ts';
import { parseOldRecord } from './parse-old-record.ts';

/** The result of importing the records of one old broker. */
export interface MigrationResult {
  readonly instances: number;
  readonly bindings: number;
  /** Records that an earlier run imported, or that the new broker created. */
  readonly present: number;
  /** Records that were not imported and stay with the old broker, with the reason. */
  readonly left: readonly { readonly name: string; readonly fault: string }[];
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
  const counts = { instances: 0, bindings: 0, present: 0 };
  const left: { name: string; fault: string }[] = [];
  for (const name of (await from.client.list(path)).toSorted()) {
    const id = name.slice(path.length + 1);
    // names with another slash belong to the new broker
    if (id.includes('/') || id === sqlMigrationMarker) continue;
    const parsed = parseOldRecord(id, await from.client.get(name), to.offerings);
    if ('fault' in parsed) left.push({ name, fault: parsed.fault });
    else counts[await importRecord(to.store, parsed.record)] += 1;
  }
  return { ...counts, left };
}

async function importRecord(
  store: BrokerStore,
  record: InstanceRecord,
): Promise<'instances' | 'bindings' | 'present'> {
  const { id, migrated } = record;
  const remembered = { instanceId: importedRecordKey(id) };
  if ((await store.read(remembered)).instance !== undefined) return 'present';
  let isPresent = false;
  const answer = { status: 200, body: {} };
  if (migrated?.kind === 'instance')
    await store.change({ instanceId: id }, ({ instance }) => {
      isPresent = instance !== undefined;
      return { answer, ...(isPresent ? {} : { instance: record }) };
    });
  await store.change(remembered, () => ({ answer, instance: { ...record, id: importedRecordKey(id) } }));
  if (isPresent) return 'present';
  return migrated?.kind === 'instance' ? 'instances' : 'bindings';
}
