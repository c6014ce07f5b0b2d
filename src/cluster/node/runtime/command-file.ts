import { ProductError } from '../../../errors/product-error.ts';

export interface ContainerCommand {
  /** Program and arguments; the program is looked up in the environment's PATH. */
  readonly command: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
}

function formatArgument(argument: string): string {
  if (argument.includes('\0')) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      'a command or environment of a container holds a NUL character',
    );
  }
  if (!argument.includes('\n')) {
    return `raw\t${argument}\n`;
  }
  return `escaped\t${argument.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`;
}

/**
 * The file from which container-init.sh and container-exec.sh read what to run: `NAME=value` lines, then the
 * command. In a file because argv of the runtime's processes is readable by every user of the machine, and because
 * the environment of a pod (LD_PRELOAD) must not reach the stages that run with the node's rights.
 */
export function formatCommandFile({ command, environment }: ContainerCommand): string {
  const [program] = command;
  if (program === undefined || program === '' || program.includes('=')) {
    throw new ProductError('INVALID_ARGUMENT', `a container cannot run ${JSON.stringify(program ?? '')}`);
  }
  const variables = [...environment].map(([name, value]) => `${name}=${value}`);
  return [...variables, ...command].map(formatArgument).join('');
}
