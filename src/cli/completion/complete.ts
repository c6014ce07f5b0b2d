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

/** What completion reads outside of the command line. A port that cannot read returns nothing. */
export interface CompletionPorts {
  /** Manifests and directories of directors below the directory of the word that have a deployment. */
  readonly deployments: (word: string) => Promise<readonly Candidate[]>;
  /** Contexts of the kubeconfig; undefined: the usual one. */
  readonly contexts: (kubeconfig: string | undefined) => Promise<readonly Candidate[]>;
  /**
   * VMs or disks that a manifest's deployment had when its CPI was last called, also if its state file is
   * lost. `state` is the value of `--state`.
   */
  readonly cids: (
    kind: 'vm' | 'disk',
    manifest: string,
    state: string | undefined,
  ) => Promise<readonly Candidate[]>;
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
  const withValue = (text: string | undefined): NamedFlag | undefined => {
    const named = flags.find(([name, { short }]) => text === `--${name}` || text === `-${short}`);
    return named?.[1].type === 'string' ? { name: named[0], flag: named[1] } : undefined;
  };
  const operands = words.filter((each, index) => !each.startsWith('-') && !withValue(words[index - 1]));
  const given = { words, operands };
  const ofFlag = withValue(words.at(-1));
  if (ofFlag !== undefined) return completeValue(ofFlag, given, word, ports);
  const [, title = '', value] = /^(--[^=]+)=(.*)$/su.exec(word) ?? [];
  if (value !== undefined) {
    const named = withValue(title);
    if (named === undefined) return nothing;
    const { candidates, paths } = await completeValue(named, given, value, ports);
    return { paths, candidates: candidates.map((each) => ({ ...each, word: `${title}=${each.word}` })) };
  }
  if (word.startsWith('-')) {
    const unused = flags.filter(([name, each]) => each.multiple === true || !words.includes(`--${name}`));
    return chooseFrom(
      [...unused.map(([name, { help = '' }]) => ({ word: `--${name}`, description: help })), helpFlag],
      word,
    );
  }
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

interface NamedFlag {
  readonly name: string;
  readonly flag: Flag;
}

/** The words before the one that is completed, and those of them that are operands. */
interface Given {
  readonly words: readonly string[];
  readonly operands: readonly string[];
}

async function completeValue(
  { name, flag: { value = '', values } }: NamedFlag,
  { words, operands: [manifest] }: Given,
  word: string,
  { contexts, cids }: CompletionPorts,
): Promise<Completion> {
  if (values !== undefined)
    return chooseFrom(
      values.map((each) => ({ word: each, description: '' })),
      word,
    );
  if (value === 'CONTEXT') return chooseFrom(await contexts(valueOf('--kubeconfig', words)), word);
  if (value === 'CID' && (name === 'vm' || name === 'disk') && manifest !== undefined)
    return chooseFrom(await cids(name, manifest, valueOf('--state', words)), word);
  if (['DIRECTORY', 'FOLDER'].includes(value)) return { candidates: [], paths: 'directories' };
  if (['FILE', 'SOURCE', 'SOCKET', 'NAME=FILE'].includes(value)) return { candidates: [], paths: 'files' };
  return nothing;
}

/** Returns the value of a flag among the words, as `--flag value` or `--flag=value`. */
function valueOf(flag: string, words: readonly string[]): string | undefined {
  const at = words.indexOf(flag);
  if (at >= 0) return words[at + 1];
  return words.find((each) => each.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

const nameCandidates = (commands: readonly SubCommand[]): Candidate[] =>
  commands.map(({ name, summary }) => ({ word: name, description: summary }));

const chooseFrom = (candidates: readonly Candidate[], word: string): Completion => ({
  candidates: candidates.filter((each) => each.word.startsWith(word)),
  paths: 'none',
});
