import { ProductError } from '../errors/product-error.ts';
import { similar } from '../platform/nearest.ts';
import type { Command, SubCommand } from './command.ts';

/** Returns a command whose first argument names one of its sub-commands. */
export function withSubCommands(
  command: Omit<Command, 'run' | 'usage'> & { readonly subCommands: readonly SubCommand[] },
): Command {
  const { name: commandName, subCommands } = command;
  const names = subCommands.map(({ name }) => name);
  return {
    ...command,
    usage: `${names.join('|')} ...`,
    async run([name, ...args], context) {
      const chosen = subCommands.find((each) => each.name === name);
      if (chosen !== undefined) return chosen.run(args, context);
      throw new ProductError(
        'INVALID_ARGUMENT',
        `'${commandName}' needs one of ${names.join(', ')}${name === undefined ? '' : similar(name, names)}; ` +
          `bosh-kubernetes ${commandName} --help explains them`,
      );
    },
  };
}
