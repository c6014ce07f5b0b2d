import { ProductError } from '../../errors/product-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { initDirector, initUsage } from './director/init.ts';
import { printDirectorEnv, printEnvUsage } from './director/print-env.ts';

interface Verb {
  readonly usage: string;
  readonly run: (words: readonly string[], context: CommandContext) => Promise<number>;
}

const verbs: ReadonlyMap<string | undefined, Verb> = new Map([
  ['init', { usage: initUsage, run: initDirector }],
  ['print-env', { usage: printEnvUsage, run: printDirectorEnv }],
]);

/** Commands for a BOSH director on Kubernetes (docs/director.md). */
export const director: Command = {
  name: 'director',
  documentation: 'docs/director.md',
  usage: `${[...verbs.keys()].join('|')} ...`,
  summary:
    'Look whether a cluster can have a BOSH director, and write what creates it; print the settings of one',
  verbs: [...verbs.values()].map(({ usage }) => usage),
  async run([name, ...words], context) {
    const verb = verbs.get(name);
    if (verb !== undefined) return verb.run(words, context);
    const usages = [...verbs.values()].map(({ usage }) => `\n  director ${usage}`);
    throw new ProductError('INVALID_ARGUMENT', `'director' wants one of:${usages.join('')}`);
  },
};
