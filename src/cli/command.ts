import type { KnownSecrets } from '../errors/redact/redactor.ts';
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

/** A sub-command of `bosh-kubernetes`. `run` returns the exit code. If it rejects, the error is printed. */
export interface Command {
  readonly name: string;
  /** Alternative names, from the bosh CLI. */
  readonly aliases?: readonly string[];
  /** The text after the command's name in a usage line. */
  readonly usage: string;
  readonly summary: string;
  /** True if the command supports `--json`. `run` does not see this flag: it gets another terminal. */
  readonly json?: boolean;
  /** Usage and summary of each sub-command, if each has its own line in the help. */
  readonly subCommands?: readonly (readonly [usage: string, summary: string])[];
  /** Usage of each sub-command, shown only in the help of this command. */
  readonly verbs?: readonly string[];
  /** Path of the page in this repository that explains the flags. */
  readonly documentation?: string;
  run(args: readonly string[], context: CommandContext): Promise<number>;
}
