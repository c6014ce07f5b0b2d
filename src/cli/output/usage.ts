import { flagWithValue, jsonFlag, type Flag, type Flags } from '../args/flags.ts';
import type { Command, SubCommand } from '../command.ts';
import { wrapText } from './table.ts';

/** The width of help that is not written to a terminal. */
export const defaultColumns = 80;
/** If a terminal leaves less room than this beside a name, its explanation begins on the next line. */
const minTextColumns = 24;

/** Returns the help text, with one line for each command. */
export function usage(commands: readonly Command[], columns = defaultColumns): string {
  const rows = commands
    .filter(({ isHidden }) => isHidden !== true)
    .map(({ name, summary }) => [`  ${name}`, summary] as const);
  const end =
    'bosh-kubernetes COMMAND --help shows its flags and an example; bosh-kubernetes --version shows the version.';
  return `Usage: bosh-kubernetes COMMAND\n\n${inTwoColumns(rows, columns)}\n${paragraph(end, columns)}`;
}

/**
 * Returns the help text of a command, or of the sub-command that `given` begin with. Returns undefined if
 * `given` do not request help: arguments after `--` belong to another program. A hidden command has no help.
 */
export function commandHelp(
  command: Command,
  given: readonly string[],
  columns = defaultColumns,
): string | undefined {
  if (command.isHidden === true) return undefined;
  const end = given.indexOf('--');
  const own = given.slice(0, end === -1 ? undefined : end);
  if (!own.includes('--help') && !own.includes('-h')) return undefined;
  const { name, subCommands = [], documentation } = command;
  const chosen = subCommands.find((each) => each.name === given[0]);
  if (chosen !== undefined)
    return helpOf(`${name} ${chosen.name}`, { documentation, ...chosen }, command, columns);
  return command.flags === undefined && subCommands.length > 0
    ? helpOfGroup(command, columns)
    : helpOf(name, command, command, columns);
}

/** The flags of a command or of its sub-command, and those that this program reads itself. */
export const allFlags = ({ flags = {} }: Pick<SubCommand, 'flags'>, { json }: Command): Flags => ({
  ...flags,
  ...(json === true ? { json: jsonFlag } : {}),
});

function helpOf(name: string, one: Omit<Command, 'run'>, command: Command, columns: number): string {
  const { usage: operands, summary, example, documentation, subCommands = [] } = one;
  const flags = Object.entries(allFlags(one, command));
  const shown = flags.filter(([, { isRare }]) => isRare !== true);
  const rare = flags.filter(([, { isRare }]) => isRare === true);
  const words = ['bosh-kubernetes', name, ...(flags.length > 0 ? ['[FLAGS]'] : []), operands];
  const table = inTwoColumns(
    shown.map(([flag, each]) => [flagTitle(flag, each), explanation(each)] as const),
    columns,
  );
  const more = rare.map(([flag]) => `--${flag}`).join(', ');
  return [
    paragraph(`${summary}.`, columns),
    '\n',
    paragraph(`Usage: ${words.filter((word) => word !== '').join(' ')}`, columns),
    ...(table === '' ? [] : ['\n', table]),
    ...subCommands.map((each) =>
      paragraph(`Also: bosh-kubernetes ${name} ${each.name}: ${each.summary}`, columns),
    ),
    ...(more === '' ? [] : [paragraph(`Also: ${more}`, columns)]),
    '\n',
    ...(example === undefined
      ? []
      : [paragraph(`Example: bosh-kubernetes ${name} ${example}`.trimEnd(), columns)]),
    ...(documentation === undefined ? [] : [paragraph(`More: ${documentation}`, columns)]),
  ].join('');
}

function helpOfGroup({ name, summary, subCommands = [], documentation }: Command, columns: number): string {
  const rows = subCommands.map((each) => [`  ${each.name}`, each.summary] as const);
  return [
    paragraph(`${summary}.`, columns),
    '\n',
    paragraph(`Usage: bosh-kubernetes ${name} ${subCommands.map((each) => each.name).join('|')}`, columns),
    `\n${inTwoColumns(rows, columns)}\n`,
    paragraph(
      `bosh-kubernetes ${name} ${subCommands[0]?.name ?? ''} --help shows the flags of one.`,
      columns,
    ),
    ...(documentation === undefined ? [] : [paragraph(`More: ${documentation}`, columns)]),
  ].join('');
}

function explanation({ help = '', default: usual }: Flag): string {
  return typeof usual === 'string' ? `${help} (default: ${usual})` : help;
}

/** For example `  -v, --var NAME=VALUE`. */
const flagTitle = (name: string, flag: Flag): string =>
  `  ${flag.short === undefined ? '   ' : `-${flag.short},`} ${flagWithValue(name, flag)}`;

function inTwoColumns(rows: readonly (readonly [string, string])[], columns: number): string {
  const indent = Math.max(...rows.map(([title]) => title.length)) + 2;
  const isBeside = columns - indent >= minTextColumns;
  return rows
    .map(([title, text]) =>
      isBeside
        ? `${title.padEnd(indent)}${wrapText(text, columns - indent).join(`\n${' '.repeat(indent)}`)}`.trimEnd()
        : [title, ...wrapText(text, columns - 8).map((line) => `        ${line}`.trimEnd())].join('\n'),
    )
    .map((lines) => `${lines}\n`)
    .join('');
}

const paragraph = (text: string, columns: number): string => `${wrapText(text, columns - 2).join('\n  ')}\n`;
