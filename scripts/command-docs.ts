import { flagWithValue } from '../src/cli/args/flags.ts';
import type { Command, SubCommand } from '../src/cli/command.ts';
import { completionExamples } from '../src/cli/commands/completion.ts';
import { allFlags } from '../src/cli/output/usage.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const head = `# Commands

\`bosh-kubernetes COMMAND --help\` shows the flags of a command in a line each, and an example. This page has all of them, and is written by
\`scripts/write-command-docs.ts\`.

## Completion

A shell completes commands, flags, their values, and file names. For commands that need a deployment, such as \`ssh\`, \`logs\` and
\`delete-env\`, it offers the manifests with a state file and the folders of directors; zsh and fish show the VM and the disks of each. For
\`state restore\`, \`--vm\` and \`--disk\` offer what the record of the deployment's CPI calls names (\`STATE.trace\`). Completion reads only
files of this machine, so no cluster has to run. \`bosh-kubernetes\` has to be [on
\`PATH\`](installing.md#the-command), or you type its path.

| shell | for this session | for every session |
|---|---|---|
| bash | \`source <(bosh-kubernetes completion bash)\` | \`bosh-kubernetes completion bash ${cell(completionExamples.bash)}\` (needs the package bash-completion), or the line of the session in \`~/.bashrc\` |
| zsh | \`source <(bosh-kubernetes completion zsh)\` after \`compinit\` | \`bosh-kubernetes completion zsh > DIRECTORY/_bosh-kubernetes\`, with a directory of \`fpath\` |
| fish | \`bosh-kubernetes completion fish \\| source\` | \`bosh-kubernetes completion fish ${cell(completionExamples.fish)}\` |

## Output

On a terminal, the step that runs is shown with its elapsed time, and with the bytes of a download or an upload; in a pipe or a file each
step is a plain line. \`NO_COLOR\` turns colours off, and \`TERM=dumb\` everything that moves the cursor. A table that is too wide for a
terminal continues its last column on the next line; below 60 columns it becomes a block for each row. After Ctrl-C the command ends at its
next safe point and says how to go on; a second Ctrl-C ends it at once.

## All commands

| command | what it does, and the page that explains more |
|---|---|
`;

interface Entry {
  readonly name: string;
  readonly leaf: SubCommand;
  readonly command: Command;
}

/** Returns the page of all commands: a table of them, and one of their flags. */
export function commandDocs(commands: readonly Command[]): string {
  const entries = commands
    .filter(({ isHidden }) => isHidden !== true)
    .flatMap((command): Entry[] => {
      const { name, flags, subCommands = [] } = command;
      const own = flags === undefined && subCommands.length > 0 ? [] : [{ name, leaf: command, command }];
      return [...own, ...subCommands.map((leaf) => ({ name: `${name} ${leaf.name}`, leaf, command }))];
    });
  const flags = '## Flags\n\n| flag | commands | what it does |\n|---|---|---|\n';
  return `${head}${entries.map(commandRow).join('')}\n${flags}${flagRows(entries)}`;
}

function commandRow({ name, leaf, command }: Entry): string {
  const { usage, summary, documentation = command.documentation } = leaf;
  const link = documentation?.replace('docs/', '');
  const page = link === undefined ? '' : `: [${link}](${link})`;
  return `| ${code(`${name} ${usage}`.trimEnd())} | ${cell(summary)}${page} |\n`;
}

/** One row for all commands for which a flag means the same. */
function flagRows(entries: readonly Entry[]): string {
  const commandsByRow = new Map<string, string[]>();
  for (const { name, leaf, command } of entries)
    for (const [flag, each] of Object.entries(allFlags(leaf, command))) {
      const short = each.short === undefined ? '' : `, \`-${each.short}\``;
      const usual = typeof each.default === 'string' ? `; default: \`${each.default}\`` : '';
      const row = `| ${code(flagWithValue(flag, each))}${short} | COMMANDS | ${cell(each.help ?? '')}${usual} |\n`;
      commandsByRow.set(row, [...(commandsByRow.get(row) ?? []), name]);
    }
  return [...commandsByRow]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([row, names]) => row.replace('COMMANDS', names.join(', ')))
    .join('');
}

const code = (text: string): string => `\`${cell(text)}\``;
