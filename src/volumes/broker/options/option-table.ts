import { containerDir } from '../../options/container-dir.ts';
import type { OptionType } from '../../options/option-type.ts';

/**
 * Where a user may give an option: to `cf create-service` and `cf update-service`, or to `cf bind-service`.
 */
export type OptionScope = 'provision' | 'bind';

/** One option of an offering. */
export interface OptionDefinition {
  readonly name: string;
  readonly type: OptionType;
  readonly scopes: readonly OptionScope[];
  /** Its key in `mount_config`, which the drivers know. */
  readonly mountConfigKey: string;
  /** What stands before the value there. */
  readonly prefix?: string;
  /** What stands after it. */
  readonly suffix?: string;
  /** A path below the space of the user who gives it: nobody can name what is another space's. */
  readonly isSpaceScoped?: boolean;
  /** Another name that users may write. */
  readonly alias?: string;
  /** Never in an answer to a fetch, a log or an error. */
  readonly isSecret?: boolean;
  /** A mount without it fails: refused where it has not been given by then. */
  readonly requiredAt?: OptionScope;
  /** Options that cannot be given beside it. */
  readonly excludes?: readonly string[];
  /** An option that has to be given beside it. */
  readonly requires?: string;
  readonly description: string;
}

export type OptionTable = readonly OptionDefinition[];

/** The option that says where an app finds the share, of every offering. */
export const mountPathOption: OptionDefinition = {
  name: 'mount',
  type: containerDir,
  scopes: ['provision', 'bind'],
  mountConfigKey: 'mount',
  description: "folder in the app's container; /var/vcap/data/INSTANCE without it",
};

/** Names of the options that end up as the same option of a mount: one of them takes another one's place. */
export const equivalentNames = (table: OptionTable, mountOption: string): readonly string[] =>
  table.filter((row) => row.mountConfigKey === mountOption).map(({ name }) => name);

/** The row that a user means by a name. */
export const find = (table: OptionTable, name: string): OptionDefinition | undefined =>
  table.find((row) => row.name === name || row.alias === name);
