import type { Command } from '../command.ts';

/**
 * Returns the help text, with one line for each command or sub-command, without flags, which would make it
 * wider than a screen.
 */
export function usage(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, usage: args, summary, subCommands = [[args, summary]] }) =>
    subCommands.map(([each, what]) => [`  ${`${name} ${withoutFlags(each)}`.trimEnd()}`, what] as const),
  );
  const width = Math.max(...lines.map(([line]) => line.length));
  const table = lines.map(([line, what]) => `${line.padEnd(width)}  ${what}\n`).join('');
  return `Usage: bosh-kubernetes COMMAND\n\n${table}\nbosh-kubernetes COMMAND --help shows the flags of one command.\n`;
}

/**
 * Removes optional parts, and everything from the first required flag on, except a flag that names a
 * sub-command.
 */
function withoutFlags(args: string): string {
  return args
    .replaceAll(/ ?\[[^\]]*\](\.\.\.)?/gu, '')
    .replace(/(?<=.)( --|,).*$/u, '')
    .trim();
}

/**
 * Returns the help text of a command, or of the sub-command that `args` begin with. Returns undefined if
 * `args` do not request help.
 */
export function commandHelp(
  { name, usage: args, summary, verbs, subCommands, documentation }: Command,
  given: readonly string[],
): string | undefined {
  const end = given.indexOf('--');
  if (!given.slice(0, end === -1 ? undefined : end).includes('--help')) return undefined;
  const listed = verbs ?? subCommands?.map(([each]) => each) ?? [];
  const all = listed.length > 0 ? listed : [args];
  const requested = all.filter((each) => each.split(' ')[0] === given[0]);
  const lines = (requested.length > 0 ? requested : all).map((each) =>
    `  bosh-kubernetes ${name} ${each}`.trimEnd(),
  );
  const further = documentation === undefined ? '' : `${documentation} explains them.\n`;
  return `${summary}. Usage:\n${lines.join('\n')}\n${further}`;
}
