import { containerDir } from '../../options/container-dir.ts';
import type { OptionType } from '../../options/option-type.ts';

/**
 * The scope in which a user may give an option: `cf create-service` and `cf update-service`, or `cf
 * bind-service`.
 */
export type OptionScope = 'provision' | 'bind';

/** One option of an offering. */
export interface OptionDefinition {
  readonly name: string;
  readonly type: OptionType;
  readonly scopes: readonly OptionScope[];
  /** The key in `mount_config`, which the drivers know. */
  readonly mountConfigKey: string;
  /** Text before the value in `mount_config`. */
  readonly prefix?: string;
  /** Text after the value in `mount_config`. */
  readonly suffix?: string;
  /**
   * If true, the value is a path below the space of its user, so that a user cannot name a secret of another
   * space.
   */
  readonly isSpaceScoped?: boolean;
  /** An alternative name that users may write. */
  readonly alias?: string;
  /** If true, the value never appears in the response to a fetch, in a log or in an error. */
  readonly isSecret?: boolean;
  /** Required by each mount: rejected if it is still missing in this scope. */
  readonly requiredAt?: OptionScope;
  /** Options that cannot be used together with it. */
  readonly excludes?: readonly string[];
  /** An option that it requires. */
  readonly requires?: string;
  readonly description: string;
}

export type OptionTable = readonly OptionDefinition[];

/** The option for the path of the share in the app's container. Every offering has it. */
export const mountPathOption: OptionDefinition = {
  name: 'mount',
  type: containerDir,
  scopes: ['provision', 'bind'],
  mountConfigKey: 'mount',
  description: "folder in the app's container; /var/vcap/data/INSTANCE without it",
};

/** Returns the options that map to the same mount_config key. One of them replaces another. */
export const equivalentNames = (table: OptionTable, mountOption: string): readonly string[] =>
  table.filter((row) => row.mountConfigKey === mountOption).map(({ name }) => name);

/** Returns the option with a name or alias. */
export const find = (table: OptionTable, name: string): OptionDefinition | undefined =>
  table.find((row) => row.name === name || row.alias === name);
