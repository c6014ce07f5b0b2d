import type { Command } from './command.ts';
import { formatTable } from './table.ts';

/** The help text: one line a command, or a sub-command. */
export function usage(commands: readonly Command[]): string {
  const table = formatTable(
    ['Command', ''],
    commands.flatMap(({ name, usage: words, summary, subCommands = [[words, summary]] }) =>
      subCommands.map(([each, what]) => [`  ${name} ${each}`.trimEnd(), what]),
    ),
  );
  return `Usage: bosh-kubernetes COMMAND\n\n${table}`;
}
