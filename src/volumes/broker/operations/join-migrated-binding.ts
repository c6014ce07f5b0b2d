import type { Offering } from '../offerings/offering.ts';
import { find } from '../options/option-table.ts';
import { mergeOptions, toMountConfig } from '../options/parse-options.ts';
import type { BindingTarget, BrokerStore } from '../store/broker-store.ts';
import type { BindingRecord, InstanceRecord, MigratedBinding, ImportedInstance } from '../store/record.ts';
import { buildVolumeMount } from './bind.ts';
import { createVolumeId } from './volume-id.ts';

/** Where a record that was taken over is remembered: the slash keeps it away from the ids of requests. */
export const importedRecordKey = (id: string): string => `migrated/${id}`;

interface JoinPorts {
  readonly offerings: readonly Offering[];
  readonly store: BrokerStore;
  readonly warn: (line: string) => void;
}

/**
 * Makes a binding of an old broker one of the instance that a request names beside it, with the volume id
 * that the old broker gave it. Does nothing for instances that were not taken over, and for bindings that
 * are joined. Killed between its two writes it goes on at the next request.
 */
export async function attachImportedBinding(
  { offerings, store, warn }: JoinPorts,
  target: BindingTarget,
): Promise<void> {
  const { instance } = await store.read(target);
  if (instance?.migrated?.kind !== 'instance') return;
  const aside = { instanceId: importedRecordKey(target.bindingId) };
  const kept = (await store.read(aside)).instance;
  const offering = offerings.find(({ id }) => id === kept?.serviceId);
  if (kept?.migrated?.kind !== 'binding' || kept.migrated.isJoined || offering === undefined) return;
  if (instance.serviceId !== offering.id) return;
  const joined = joinedBinding(offering, target, { instance, kept }, [instance.migrated, kept.migrated]);
  if ('description' in joined) {
    const why = joined.description.replaceAll('\n', ' ');
    warn(`binding ${target.bindingId} of an old broker does not fit instance ${target.instanceId}: ${why}`);
    return;
  }
  const answer = { status: 200, body: {} };
  await store.change(target, ({ binding }) => ({
    answer,
    ...(binding === undefined ? { binding: joined } : {}),
  }));
  const done = { ...kept, migrated: { ...kept.migrated, isJoined: true } };
  await store.change(aside, () => ({ answer, instance: done }));
}

function joinedBinding(
  offering: Offering,
  { instanceId, bindingId }: BindingTarget,
  { instance, kept }: { readonly instance: InstanceRecord; readonly kept: InstanceRecord },
  [ofInstance, ofBinding]: readonly [ImportedInstance, MigratedBinding],
): BindingRecord | { readonly description: string } {
  const { table, operator } = offering;
  // as it was when the old broker bound it, whatever was updated since
  const merged = mergeOptions(table, operator, instance.provisioned, kept.options);
  if ('description' in merged) return merged;
  const { appGuid } = ofBinding;
  const mount = buildVolumeMount(offering, { instanceId, appGuid }, merged.options, 'md5');
  const oldOptions = {
    ...toMountConfig(table, operator.defaults),
    ...legacyMountConfig(offering, ofInstance.given),
    ...legacyMountConfig(offering, ofBinding.given),
    ...toMountConfig(table, operator.forced),
  };
  return {
    id: bindingId,
    instanceId,
    serviceId: kept.serviceId,
    planId: kept.planId,
    appGuid,
    options: kept.options,
    volumeMount: {
      ...mount,
      device: { ...mount.device, volume_id: createVolumeId(instanceId, oldOptions, 'md5') },
    },
  };
}

/** The old brokers hashed what they were given, not what it means. */
function legacyMountConfig(
  { table }: Offering,
  rawParameters: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(rawParameters).map(([name, value]) => {
    const row = find(table, name);
    return [row?.mountConfigKey ?? name, `${row?.prefix ?? ''}${value}`] as const;
  });
  return Object.fromEntries(entries);
}
