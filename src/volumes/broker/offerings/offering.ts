import type { AllowedShare } from './allowed-shares.ts';
import type { OptionTable } from '../options/option-table.ts';
import type { OperatorOptions } from '../options/parse-options.ts';

/** What the operator says of an offering. */
export type OfferingSettings = Pick<Offering, 'operator' | 'allowedShares' | 'maintenance'>;

/** One service with its one plan, as Cloud Controller knows it. */
export interface Offering {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly plan: { readonly id: string; readonly name: string; readonly description: string };
  /** What its file servers speak. */
  readonly protocol: 'nfs' | 'smb';
  /** Name of the volume driver on the cells: the name of its spec file. */
  readonly driver: string;
  readonly table: OptionTable;
  readonly operator: OperatorOptions;
  /** All shares where absent. */
  readonly allowedShares?: readonly AllowedShare[] | undefined;
  /** Of the plan, where the operator sets one (OSBAPI 2.17, maintenance_info). */
  readonly maintenance?: { readonly version: string; readonly description?: string } | undefined;
}
