import type { ServiceAction } from '../service-chain.ts';

export type Command =
  | { readonly kind: 'summary' | 'status' | 'reload' | 'version' | 'help' }
  | {
      readonly kind: 'action';
      readonly action: ServiceAction;
      /** Takes precedence over `name`. */
      readonly group: string | undefined;
      /** A service or `all`. */
      readonly name: string | undefined;
    }
  | { readonly kind: 'invalid'; readonly cause: string };

const actions: readonly ServiceAction[] = ['start', 'stop', 'restart', 'monitor', 'unmonitor'];
// These options of monit have an argument. Options about its daemon or its control file have no effect.
const withArgument = new Set(['c', 'd', 'g', 'l', 'p', 's']);
const flags = new Set(['i', 'I', 'v']);

/** Reads the arguments of a `monit` command. Options may be at any position (monit: src/monitor.c). */
export function parseCommand(words: readonly string[]): Command {
  const options = readOptions(words);
  if ('kind' in options) return options;
  const { group, values } = options;
  const [kind, name] = values;
  if (kind === 'summary' || kind === 'status' || kind === 'reload') return { kind };
  const action = actions.find((one) => one === kind);
  if (action === undefined) {
    const what = kind === undefined ? 'no argument' : `invalid argument -- ${kind}`;
    return invalid(`${what}  (-h will show valid arguments)`);
  }
  if (group === undefined && name === undefined)
    return invalid(`please specify the configured service name or 'all' after ${action}`);
  return { kind: 'action', action, group, name };
}

interface Options {
  readonly group: string | undefined;
  /** The arguments that are not options. */
  readonly values: readonly string[];
}

function readOptions(words: readonly string[]): Options | Command {
  const values: string[] = [];
  let group: string | undefined;
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const option = /^-(.)/.exec(word)?.[1];
    if (option === undefined) values.push(word);
    else if (option === 'V') return { kind: 'version' };
    else if (option === 'h') return { kind: 'help' };
    else if (withArgument.has(option)) {
      const value = word.slice(2) || rest.shift();
      if (value === undefined) return invalid(`option -- ${option} requires an argument`);
      if (option === 'g') group = value;
    } else if (flags.has(option)) {
      if (word.length > 2) rest.unshift(`-${word.slice(2)}`);
    } else return invalid(`invalid option -- ${option}  (-h will show valid options)`);
  }
  return { group, values };
}

const invalid = (cause: string): Command => ({ kind: 'invalid', cause });
