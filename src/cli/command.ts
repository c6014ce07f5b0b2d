import type { KnownSecrets } from '../errors/redact/redactor.ts';
import type { Flags } from './args/flags.ts';
import type { Installation } from './installation.ts';
import type { Terminal } from './output/terminal.ts';

export interface CommandContext {
  readonly installation: Installation;
  /** Never shows a value that is in `secrets`. */
  readonly terminal: Terminal;
  readonly secrets: KnownSecrets;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/** What an operand of a command line is, for completion. */
export type Operand = 'deployment' | 'directory' | 'file' | 'path in VM' | 'other';

/** What the help and completion know about a command or a sub-command. */
export interface SubCommand {
  readonly name: string;
  /** The operands and the flags that are always needed, for example `MANIFEST`. */
  readonly usage: string;
  readonly summary: string;
  readonly flags?: Flags;
  /** The operands in their order; the last one may be repeated. The default is a file. */
  readonly operands?: readonly Operand[];
  /** Arguments that work, without the names of the commands. */
  readonly example?: string;
  /** Path of the page in this repository that explains more. */
  readonly documentation?: string | undefined;
  /** Returns the exit code. If it rejects, the error is printed. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
}

/** A command of `bosh-kubernetes`. */
export interface Command extends SubCommand {
  /** Alternative names, from the bosh CLI. */
  readonly aliases?: readonly string[];
  /** True if the command supports `--json`. `run` does not see this flag: it gets another terminal. */
  readonly json?: boolean;
  readonly subCommands?: readonly SubCommand[];
  /** True if no operator needs the command: the list of all commands does not show it. */
  readonly isHidden?: boolean;
}
