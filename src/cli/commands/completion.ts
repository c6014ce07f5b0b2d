import { oneLine } from '../../errors/text.ts';
import type { Command } from '../command.ts';
import { complete, type Completion } from '../completion/complete.ts';
import { completionPorts } from '../completion/completion-ports.ts';
import { shellScripts, shells } from '../completion/shell-scripts.ts';
import { unquote } from '../completion/unquote.ts';
import { withSubCommands } from '../with-sub-commands.ts';

/** Commands that put a user's scripts where the shells find them. `install -D` makes the missing folders. */
export const completionExamples = {
  bash: '| install -Dm644 /dev/stdin ~/.local/share/bash-completion/completions/bosh-kubernetes',
  zsh: '> "${fpath[1]}/_bosh-kubernetes"',
  fish: '| install -Dm644 /dev/stdin ~/.config/fish/completions/bosh-kubernetes.fish',
} as const;

/** Prints a script with which a shell completes our command lines (docs/commands.md). */
export const completion = withSubCommands({
  name: 'completion',
  summary: 'Print a script that lets a shell complete command lines',
  documentation: 'docs/commands.md',
  subCommands: shells.map((name) => ({
    ...{ name, usage: '', operands: ['other'], example: completionExamples[name] },
    summary: `Print the script for ${name}`,
    run(_, { terminal }) {
      terminal.out(shellScripts[name]);
      return Promise.resolve(0);
    },
  })),
});

/** Answers the scripts. `commands` is a function, because the command is one of them. */
export const completeCommand = (commands: () => readonly Command[]): Command => ({
  name: '__complete',
  usage: 'SHELL WORD...',
  summary: 'Print what the last word may become',
  isHidden: true,
  async run([shell, ...given], { terminal, environment }) {
    // Bash passes words as they are typed.
    const words = shell === 'bash' ? given.map(unquote) : given;
    const word = words.at(-1) ?? '';
    const ports = completionPorts(environment);
    terminal.out(format(await complete(commands(), words.slice(0, -1), word, ports)));
    return 0;
  },
});

/** A name with a control character cannot be typed, and would end its line here. */
function format({ candidates, paths }: Completion): string {
  const lines = candidates
    .filter(({ word }) => oneLine(word) === word)
    .map(({ word, description }) => `${word}\t${oneLine(description)}\n`);
  return `${paths}\n${lines.join('')}`;
}
