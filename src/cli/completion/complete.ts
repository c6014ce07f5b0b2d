import type { Flag } from '../args/flags.ts';
import type { Command, Operand, SubCommand } from '../command.ts';
import { allFlags } from '../output/usage.ts';

/** A word that the shell offers. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/**
 * What a shell offers: `candidates`, which are paths or not, and with `files` or `directories` their
 * names.
 */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly paths: 'files' | 'directories' | 'paths' | 'none';
}

/** What completion reads outside of the command line. Both return nothing if they cannot read. */
export interface CompletionPorts {
  /** Manifests and directories of directors below the directory of the word that have a deployment. */
  readonly deployments: (word: string) => Promise<readonly Candidate[]>;
  /** Contexts of the kubeconfig; undefined: the usual one. */
  readonly contexts: (kubeconfig: string | undefined) => Promise<readonly Candidate[]>;
}

const nothing: Completion = { candidates: [], paths: 'none' };

/**
 * Returns what `word` may become after the words of a command line, without the program. A word `--flag=text`
 * gets candidates with the flag.
 */
export async function complete(
  commands: readonly Command[],
  words: readonly string[],
  word: string,
  ports: CompletionPorts,
): Promise<Completion> {
  const visible = commands.filter(({ isHidden }) => isHidden !== true);
  const [name, ...rest] = words[0] === 'help' ? words.slice(1) : words;
  if (name === undefined) return chooseFrom(nameCandidates(visible), word);
  const command = visible.find((each) => each.name === name || each.aliases?.includes(name));
  if (command === undefined) return nothing;
  const sub = command.subCommands?.find((each) => each.name === rest[0]);
  if (words[0] === 'help')
    return rest.length > 0 ? nothing : chooseFrom(nameCandidates(command.subCommands ?? []), word);
  const subCommands = rest.length === 0 ? nameCandidates(command.subCommands ?? []) : [];
  if (command.flags === undefined && sub === undefined && command.subCommands !== undefined)
    return chooseFrom(subCommands, word);
  const leaf = sub ?? command;
  const own = await completeArguments(leaf, command, sub === undefined ? rest : rest.slice(1), word, ports);
  return { ...own, candidates: [...chooseFrom(subCommands, word).candidates, ...own.candidates] };
}

async function completeArguments(
  leaf: SubCommand,
  command: Command,
  words: readonly string[],
  word: string,
  ports: CompletionPorts,
): Promise<Completion> {
  // The words after `--` are those of another command.
  if (words.includes('--')) return { candidates: [], paths: 'files' };
  const flags = Object.entries(allFlags(leaf, command));
  const byWord = (text: string): Flag | undefined =>
    flags.find(([name, { short }]) => text === `--${name}` || text === `-${short}`)?.[1];
  const takesValue = (text: string | undefined): Flag | undefined => {
    const flag = text === undefined ? undefined : byWord(text);
    return flag?.type === 'string' ? flag : undefined;
  };
  const ofFlag = takesValue(words.at(-1));
  if (ofFlag !== undefined) return completeValue(ofFlag, words, word, ports);
  const [, title = '', value] = /^(--[^=]+)=(.*)$/su.exec(word) ?? [];
  const flag = takesValue(title);
  if (value !== undefined) {
    if (flag === undefined) return nothing;
    const { candidates, paths } = await completeValue(flag, words, value, ports);
    return { paths, candidates: candidates.map((each) => ({ ...each, word: `${title}=${each.word}` })) };
  }
  if (word.startsWith('-')) {
    const unused = flags.filter(([name, each]) => each.multiple === true || !words.includes(`--${name}`));
    return chooseFrom(
      [...unused.map(([name, { help = '' }]) => ({ word: `--${name}`, description: help })), helpFlag],
      word,
    );
  }
  const operands = words.filter((each, index) => !each.startsWith('-') && !takesValue(words[index - 1]));
  return completeOperand(operandAt(leaf.operands ?? ['file'], operands.length), word, ports);
}

const helpFlag: Candidate = { word: '--help', description: 'Show the flags and an example' };

/** The last operand may be repeated. */
const operandAt = (operands: readonly Operand[], index: number): Operand =>
  operands[index] ?? operands.at(-1) ?? 'other';

async function completeOperand(
  operand: Operand,
  word: string,
  { deployments }: CompletionPorts,
): Promise<Completion> {
  switch (operand) {
    case 'deployment': {
      const found = chooseFrom(await deployments(word), word);
      return { ...found, paths: found.candidates.length > 0 ? 'paths' : 'files' };
    }
    case 'path in VM':
      return word !== '' && 'vm:'.startsWith(word)
        ? { candidates: [{ word: 'vm:', description: 'a path in the VM' }], paths: 'none' }
        : { candidates: [], paths: 'files' };
    case 'file':
      return { candidates: [], paths: 'files' };
    case 'directory':
      return { candidates: [], paths: 'directories' };
    case 'other':
      return nothing;
  }
}

async function completeValue(
  { value = '', values }: Flag,
  words: readonly string[],
  word: string,
  { contexts }: CompletionPorts,
): Promise<Completion> {
  if (values !== undefined)
    return chooseFrom(
      values.map((each) => ({ word: each, description: '' })),
      word,
    );
  if (value === 'CONTEXT')
    return chooseFrom(
      await contexts(words.includes('--kubeconfig') ? words[words.indexOf('--kubeconfig') + 1] : undefined),
      word,
    );
  if (['DIRECTORY', 'FOLDER'].includes(value)) return { candidates: [], paths: 'directories' };
  if (['FILE', 'SOURCE', 'SOCKET', 'NAME=FILE'].includes(value)) return { candidates: [], paths: 'files' };
  return nothing;
}

const nameCandidates = (commands: readonly SubCommand[]): Candidate[] =>
  commands.map(({ name, summary }) => ({ word: name, description: summary }));

const chooseFrom = (candidates: readonly Candidate[], word: string): Completion => ({
  candidates: candidates.filter((each) => each.word.startsWith(word)),
  paths: 'none',
});
