import { ageColumn, nameColumn } from '../kinds/columns.ts';
import { ageOf } from '../kinds/duration.ts';
import type { Column } from '../kinds/kind.ts';
import { parseJsonPath, valuesAt } from './json-path.ts';

export const columnTypes = ['string', 'integer', 'number', 'boolean', 'date'] as const;

/** An entry of `additionalPrinterColumns`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: (typeof columnTypes)[number];
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

/** The name, then what the definition asks for, or else the age (apiextensions pkg/registry/customresource/tableconvertor). */
export function printerColumns(columns: readonly PrinterColumn[] | undefined): readonly Column[] {
  return [
    nameColumn,
    ...(columns === undefined || columns.length === 0 ? [ageColumn] : columns.map(columnOf)),
  ];
}

function columnOf({ name, type, jsonPath, format, description, priority = 0 }: PrinterColumn): Column {
  const path = parseJsonPath(jsonPath) ?? [];
  return {
    name,
    type,
    ...(format === undefined ? {} : { format }),
    priority,
    description: description ?? '',
    cell: (object, now) => cellOf(valuesAt(path, object), type, now),
  };
}

function cellOf(
  values: readonly unknown[],
  type: PrinterColumn['type'],
  now: number,
): string | number | boolean | null {
  const [value] = values;
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'date':
      return ageOf(value, now);
    case 'integer':
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'string':
      if (values.length > 1) return JSON.stringify(values);
      return typeof value === 'string' ? value : JSON.stringify(value);
  }
}
