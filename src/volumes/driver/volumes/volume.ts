import { hostOfShare } from '../../options/share.ts';
import type { VolumeRecord } from '../state/volume-record.ts';

/** Options of Create as they came. */
export type CreateOptions = Readonly<Record<string, unknown>>;

/** A volume in memory: its record, and the options of Create with what is secret in them. */
export interface Volume {
  readonly record: VolumeRecord;
  /** Undefined after a restart, where secrets were left out of the record. */
  readonly options: CreateOptions | undefined;
  /**
   * What Create brought while the volume was in use. Nothing is mounted by them before a Mount: the watchdog
   * mounts again what was verified.
   */
  readonly nextOptions?: CreateOptions | undefined;
}

/** The file server that the options name; a volume whose options name none has its own name. */
export function serverOf({ record, options = record.options }: Volume): string {
  const { source } = options;
  const host = typeof source === 'string' ? hostOfShare(source.replace(/^nfs:/u, '')) : '';
  return host.replace(/:$/u, '').toLowerCase() || record.name;
}

/** How many use a volume's mount. */
export const mountCount = ({ count, ids }: Pick<VolumeRecord, 'count' | 'ids'>): number => count + ids.length;

/** One more mount; an id counts once. */
export function addMount(record: VolumeRecord, id: string | undefined): VolumeRecord {
  if (id === undefined) return { ...record, count: record.count + 1 };
  return { ...record, ids: [...new Set([...record.ids, id])] };
}

/** One mount less; undefined where there is none of that id, or none without one. */
export function removeMount(record: VolumeRecord, id: string | undefined): VolumeRecord | undefined {
  if (id !== undefined)
    return record.ids.includes(id)
      ? { ...record, ids: record.ids.filter((other) => other !== id) }
      : undefined;
  return record.count > 0 ? { ...record, count: record.count - 1 } : undefined;
}
