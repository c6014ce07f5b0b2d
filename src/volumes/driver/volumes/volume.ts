import { hostOfShare } from '../../options/share.ts';
import type { VolumeRecord } from '../state/volume-record.ts';

/** The unparsed options of Create. */
export type CreateOptions = Readonly<Record<string, unknown>>;

/** A volume in memory: its record, and the options of Create with their secrets. */
export interface Volume {
  readonly record: VolumeRecord;
  /** Undefined after a restart, if the record lacks secrets. */
  readonly options: CreateOptions | undefined;
  /**
   * Options of a Create while the volume was in use. They take effect at the next Mount: until then the
   * watchdog mounts with the options that were verified.
   */
  readonly nextOptions?: CreateOptions | undefined;
}

/** Returns the file server that the options name, or the volume's own name if they name none. */
export function serverOf({ record, options = record.options }: Volume): string {
  const { source } = options;
  const host = typeof source === 'string' ? hostOfShare(source.replace(/^nfs:/u, '')) : '';
  return host.replace(/:$/u, '').toLowerCase() || record.name;
}

/** Returns the number of mounts of a volume that are in use. */
export const mountCount = ({ count, ids }: Pick<VolumeRecord, 'count' | 'ids'>): number => count + ids.length;

/** Adds a mount. The same id counts once. */
export function addMount(record: VolumeRecord, id: string | undefined): VolumeRecord {
  if (id === undefined) return { ...record, count: record.count + 1 };
  return { ...record, ids: [...new Set([...record.ids, id])] };
}

/** Removes a mount. Returns undefined if there is no mount with that id, or none without an id. */
export function removeMount(record: VolumeRecord, id: string | undefined): VolumeRecord | undefined {
  if (id !== undefined)
    return record.ids.includes(id)
      ? { ...record, ids: record.ids.filter((other) => other !== id) }
      : undefined;
  return record.count > 0 ? { ...record, count: record.count - 1 } : undefined;
}
