import type { AllowedShare } from './allowed-shares.ts';
import type { OptionTable } from '../options/option-table.ts';
import type { OperatorOptions } from '../options/parse-options.ts';

/** The operator's settings of an offering. */
export type OfferingSettings = Pick<Offering, 'operator' | 'allowedShares' | 'maintenance'>;

/** A service with its only plan, as Cloud Controller knows it. */
export interface Offering {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly plan: { readonly id: string; readonly name: string; readonly description: string };
  /** The protocol of its file servers. */
  readonly protocol: 'nfs' | 'smb';
  /** The name of the volume driver on the cells, which is the name of its spec file. */
  readonly driver: string;
  readonly table: OptionTable;
  readonly operator: OperatorOptions;
  /** Absent means that all shares are allowed. */
  readonly allowedShares?: readonly AllowedShare[] | undefined;
  /** The maintenance_info of the plan (OSBAPI 2.17), if the operator sets one. */
  readonly maintenance?: { readonly version: string; readonly description?: string } | undefined;
}
