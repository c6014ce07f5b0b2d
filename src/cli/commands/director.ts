import { ProductError } from '../../errors/product-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { printDirectorEnv, printEnvUsage } from './director/print-env.ts';

interface Verb {
  readonly usage: string;
  readonly run: (words: readonly string[], context: CommandContext) => Promise<number>;
}

const verbs: ReadonlyMap<string | undefined, Verb> = new Map([
  ['print-env', { usage: printEnvUsage, run: printDirectorEnv }],
]);

/** A BOSH director on Kubernetes (docs/director.md). */
export const director: Command = {
  name: 'director',
  usage: `${[...verbs.keys()].join('|')} ...`,
  summary: "Print a director's settings for a shell, and start the tunnel to it",
  async run([name, ...words], context) {
    const verb = verbs.get(name);
    if (verb !== undefined) return verb.run(words, context);
    const usages = [...verbs.values()].map(({ usage }) => `\n  director ${usage}`);
    throw new ProductError('INVALID_ARGUMENT', `'director' wants one of:${usages.join('')}`);
  },
};
