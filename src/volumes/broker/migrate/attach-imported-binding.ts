import type { Offering } from '../offerings/offering.ts';
import { find, mergeOptions, toMountConfig } from '../offerings/option-table.ts';
import type {
  BindingRecord,
  BindingTarget,
  BrokerStore,
  ImportedInstance,
  InstanceRecord,
  MigratedBinding,
} from '../store/broker-store.ts';
import { buildVolumeMount, createVolumeId } from '../volume-mount.ts';

/**
 * Returns the id under which an imported record is remembered. The slash separates it from the ids of
 * requests.
 */
export const importedRecordKey = (id: string): string => `migrated/${id}`;

interface JoinPorts {
  readonly offerings: readonly Offering[];
  readonly store: BrokerStore;
  readonly warn: (line: string) => void;
}

/**
 * Attaches the imported binding of an old broker to the instance that a request names together with it. The
 * volume id stays the one that the old broker made. Does nothing for instances that were not imported, and
 * for bindings that are already attached. If the broker dies between its two writes, the next request
 * continues.
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
    const reason = joined.description.replaceAll('\n', ' ');
    warn(
      `binding ${target.bindingId} of an old broker does not fit instance ${target.instanceId}: ${reason}`,
    );
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
  // the options at the time of the bind by the old broker, without later updates
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

/** Returns the mount_config that the old brokers hashed: the raw parameters, not the normalised ones. */
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
