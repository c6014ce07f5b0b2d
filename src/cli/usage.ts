import type { Command } from './command.ts';
import { formatTable } from './table.ts';

/** Returns the help text, with one line for each command or sub-command. */
export function usage(commands: readonly Command[]): string {
  const table = formatTable(
    ['Command', ''],
    commands.flatMap(({ name, usage: words, summary, subCommands = [[words, summary]] }) =>
      subCommands.map(([each, what]) => [`  ${name} ${each}`.trimEnd(), what]),
    ),
  );
  return `Usage: bosh-kubernetes COMMAND\n\n${table}`;
}

/**
 * Returns the help text of a command, or of the sub-command that `words` begin with. Returns undefined if
 * `words` do not request help.
 */
export function commandHelp(
  { name, usage: words, summary, verbs, subCommands }: Command,
  given: readonly string[],
): string | undefined {
  const end = given.indexOf('--');
  if (!given.slice(0, end === -1 ? undefined : end).includes('--help')) return undefined;
  const listed = verbs ?? subCommands?.map(([each]) => each) ?? [];
  const all = listed.length > 0 ? listed : [words];
  const asked = all.filter((each) => each.split(' ')[0] === given[0]);
  const lines = (asked.length > 0 ? asked : all).map((each) => `  bosh-kubernetes ${name} ${each}`.trimEnd());
  return `${summary}. Usage:\n${lines.join('\n')}\n`;
}
