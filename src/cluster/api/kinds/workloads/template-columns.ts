import type { PodTemplateSpec } from '../../../../kubernetes/workload.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { column } from '../columns.ts';
import type { Column } from '../kind.ts';

/** Containers and images of a template, for `-o wide`. */
export function templateColumns(
  template: (object: StoredObject) => PodTemplateSpec | undefined,
  options: { readonly wide: boolean },
): Column[] {
  const listed = (key: 'name' | 'image') => (object: StoredObject) =>
    (template(object)?.spec.containers ?? []).map((container) => container[key] ?? '').join(',');
  return [column('Containers', listed('name'), options), column('Images', listed('image'), options)];
}
