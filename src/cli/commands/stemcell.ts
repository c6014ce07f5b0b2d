import { ProductError } from '../../errors/product-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { buildUsage } from '../stemcell/build-arguments.ts';
import { buildStemcell } from '../stemcell/build.ts';
import { load, loadUsage } from '../stemcell/load.ts';
import { prePull, prePullUsage } from '../stemcell/pre-pull.ts';
import { pushStemcell, pushVerbUsage } from '../stemcell/push.ts';

interface Verb {
  readonly usage: string;
  readonly run: (args: readonly string[], context: CommandContext) => Promise<number>;
}

const verbs: ReadonlyMap<string | undefined, Verb> = new Map([
  ['build', { usage: buildUsage, run: buildStemcell }],
  ['push', { usage: pushVerbUsage, run: pushStemcell }],
  ['load', { usage: loadUsage, run: load }],
  ['pre-pull', { usage: prePullUsage, run: prePull }],
]);

/**
 * Commands that build stemcells, which VMs run, and bring them to a place where nodes find them
 * (docs/stemcells.md).
 */
export const stemcell: Command = {
  name: 'stemcell',
  documentation: 'docs/stemcells.md',
  usage: 'build|push|load|pre-pull ...',
  summary: 'Make a stemcell, the image that VMs run, and bring it to a registry or to nodes',
  verbs: [...verbs.values()].map(({ usage }) => usage),
  async run([name, ...args], context) {
    const verb = verbs.get(name);
    if (verb === undefined) {
      const usages = [...verbs.values()].map(({ usage }) => `\n  stemcell ${usage}`);
      throw new ProductError('INVALID_ARGUMENT', `'stemcell' needs one of:${usages.join('')}`);
    }
    return verb.run(args, context);
  },
};
