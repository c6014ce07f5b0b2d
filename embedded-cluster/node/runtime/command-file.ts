import { ProductError } from '../../../src/errors/product-error.ts';

export interface ContainerCommand {
  /** Program and arguments; the program is looked up in the environment's PATH. */
  readonly command: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
}

function quote(argument: string): string {
  if (argument.includes('\0')) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      'a command or environment of a container holds a NUL character',
    );
  }
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

/**
 * Returns the text of the file that container-init.sh and container-exec.sh source. It sets the arguments of
 * env(1) as the positional parameters: first each `NAME=value`, then the command. It is a shell command,
 * because the shell reads its own text in blocks, while read(1) reads byte by byte: the entry of a VM has ten
 * thousand bytes. It is a file, because every user of the machine can read argv of the runtime's processes,
 * and because the environment of a pod (LD_PRELOAD) must not reach the stages that run with the node's
 * rights.
 */
export function formatCommandFile({ command, environment }: ContainerCommand): string {
  const [program] = command;
  if (program === undefined || program === '' || program.includes('=')) {
    throw new ProductError('INVALID_ARGUMENT', `a container cannot run ${JSON.stringify(program ?? '')}`);
  }
  const variables = [...environment].map(([name, value]) => `${name}=${value}`);
  return `set -- ${[...variables, ...command].map(quote).join(' ')}\n`;
}
