import type { Field } from '../../platform/field.ts';
import { layouts, type Layout } from './layout-vms.ts';

/** What director.json keeps of the Cloud Foundry of a folder, for the next run. */
export interface FoundryRecord {
  readonly layout: Layout;
  /** The values of the variables of the cloud-config and of the ops files. */
  readonly variables: Readonly<Record<string, string>>;
  /** Garden's own network instead of silk. */
  readonly hasOneCell: boolean;
  readonly hasVolumeServices: boolean;
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
  // an earlier version did not record them
  hasOneCell: field.get('hasOneCell').optional()?.boolean() ?? false,
  hasVolumeServices: field.get('hasVolumeServices').optional()?.boolean() ?? false,
});
