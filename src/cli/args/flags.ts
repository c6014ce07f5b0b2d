/**
 * A flag of a command. Its line in the help, its completion and the arguments of parseArgs are made from
 * this.
 */
export interface Flag {
  readonly type: 'boolean' | 'string';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: boolean | string;
  /** The placeholder of the value, for example FILE; see `completionOf`. */
  readonly value?: string;
  /** All values that the flag accepts. */
  readonly values?: readonly string[];
  /** What the flag does, in one line. */
  readonly help?: string;
  /** Few operators need the flag: the help names it in one line with others; docs/commands.md explains it. */
  readonly isRare?: boolean;
}

export type FlagValue = Pick<Flag, 'type' | 'value' | 'values'>;

export type Flags = Readonly<Record<string, Flag>>;

/** Returns the flag as a command line has it, for example `--state FILE`. */
export function flagWithValue(name: string, flag: Flag): string {
  return flag.type === 'boolean' ? `--${name}` : `--${name} ${placeholderOf(flag)}`;
}

/** Returns the text that stands for the value of the flag, for example `FILE` or `json|yaml`. */
export const placeholderOf = ({ value, values }: FlagValue): string => value ?? values?.join('|') ?? 'VALUE';

/** Returns only the flags with these names. */
export function pickFlags(flags: Flags, names: readonly string[]): Flags {
  return Object.fromEntries(Object.entries(flags).filter(([name]) => names.includes(name)));
}

/** Flags that commands for a cluster have in common. */
export const clusterFlags = {
  kubeconfig: { type: 'string', value: 'FILE', help: 'Kubeconfig (default: like kubectl)' },
  context: { type: 'string', value: 'CONTEXT', help: 'Context (default: the current one)' },
} as const;

export const jsonFlag: Flag = { type: 'boolean', help: 'Print one JSON object, like bosh' };
