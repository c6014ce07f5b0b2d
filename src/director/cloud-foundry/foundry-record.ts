import type { Field } from '../../platform/field.ts';
import { layouts, type Layout } from './layout-vms.ts';

/** What director.json keeps of the Cloud Foundry of a folder, for the next run. */
export interface FoundryRecord {
  readonly layout: Layout;
  /** The values of the variables of the cloud-config and of the ops files. */
  readonly variables: Readonly<Record<string, string>>;
}

export const parseFoundryRecord = (field: Field): FoundryRecord => ({
  layout: field.get('layout').oneOf(layouts),
  variables: Object.fromEntries(
    field
      .get('variables')
      .required()
      .entries()
      .map(([name, value]) => [name, value.nonEmptyString()]),
  ),
});
