import type { Command } from './command.ts';
import { formatTable } from './table.ts';

/** The help text: one line a command. */
export function usage(commands: readonly Command[]): string {
  const table = formatTable(
    ['Command', ''],
    commands.map((command) => [`  ${command.name} ${command.usage}`.trimEnd(), command.summary]),
  );
  return `Usage: bosh-kubernetes COMMAND\n\n${table}`;
}
