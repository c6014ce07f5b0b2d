import type { StoredObject } from '../store/stored-object.ts';
import type { Column } from './kind.ts';

/** Returns a column of text. */
export function column(
  name: string,
  cell: Column['cell'],
  options: { wide?: boolean; type?: Column['type'] } = {},
): Column {
  return {
    name,
    type: options.type ?? 'string',
    priority: options.wide === true ? 1 : 0,
    description: '',
    cell,
  };
}

/** Returns a column with the value at a path; `<none>` if there is none. A date is shown as an age. */
export function valueColumn(name: string, type: Column['type'], ...path: readonly string[]): Column {
  const cell: Column['cell'] = (object, now) => {
    const value = valueAt(object, ...path);
    if (value === undefined) return null;
    if (type === 'date') return ageOf(value, now);
    return typeof value === 'object' || (type === 'string' && typeof value === 'number')
      ? JSON.stringify(value)
      : (value as string | number | boolean);
  };
  return column(name, cell, { type });
}

export const nameColumn: Column = {
  ...column('Name', (object) => object.metadata.name),
  format: 'name',
  description: 'Name must be unique within a namespace.',
};

export const ageColumn: Column = column('Age', (object, now) =>
  ageOf(object.metadata.creationTimestamp, now),
);

/** The columns of a kind that has none of its own. */
export const defaultColumns: readonly Column[] = [nameColumn, ageColumn];

/** Returns the value at a path of keys, or undefined if the object has none. */
export function valueAt(object: StoredObject, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
    object,
  );
}

/** Returns the text at a path, or `absent` if there is none. */
export function stringAt(object: StoredObject, path: readonly string[], absent = ''): string {
  const value = valueAt(object, ...path);
  return typeof value === 'string' && value !== '' ? value : absent;
}

/**
 * Returns an age as kubectl prints it: `5s`, `3m10s`, `4h`, `2d3h` (apimachinery pkg/util/duration
 * HumanDuration). Returns `<invalid>` for a time in the future, `<unknown>` if there is no time.
 */
export function ageOf(time: unknown, now: number): string {
  if (typeof time !== 'string') return '<unknown>';
  const seconds = Math.floor((now - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return '<unknown>';
  if (seconds < -1) return '<invalid>';
  return humanDuration(Math.max(seconds, 0));
}

function humanDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${smallerUnit(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return `${hours}h${smallerUnit(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return `${days}d${smallerUnit(hours % 24, 'h')}`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? `${years}y${smallerUnit(days % 365, 'd')}` : `${years}y`;
}

function smallerUnit(count: number, unit: string): string {
  return count === 0 ? '' : `${count}${unit}`;
}
